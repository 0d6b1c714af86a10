"""FastLane: live frames and their metrics, from any process of a run to whoever watches.

One file in shared memory per run, `/dev/shm/mosaic.fastlane.<run>`. Writers render only while a
viewer's lease lasts; readers take copies that are whole or none. Standard library only, numpy where
the writing script has it: this package travels into foreign environments.
"""
