from __future__ import annotations

from mosaic.errors import BundleError
from mosaic.gui.state.notices import install_offer


def test_an_offer_to_install_says_how_much_is_fetched_and_why_it_is_that_build() -> None:
    plain = BundleError("The run needs learner", bundle="learner", fetch_bytes=212_000_000)
    offer = install_offer(plain, 212_000_000, lambda: None)
    assert offer.text == "learner is not installed (at most 212 MB to fetch)"
    note = "This is the CUDA build: there is no other."
    stand_in = BundleError("The run needs learner", bundle="learner", note=note)
    assert install_offer(stand_in, 2_900_000_000, lambda: None).text == (
        f"learner is not installed (at most 2.9 GB to fetch). {note}"
    )
