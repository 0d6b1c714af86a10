-- What is kept of the word that makes an attempt's exit.json genuine; see attempt_fate.py.
CREATE TABLE exit_proofs (
    run_id TEXT NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    attempt INTEGER NOT NULL,
    commitment TEXT NOT NULL,
    checksum BLOB NOT NULL,
    PRIMARY KEY (run_id, attempt)
) WITHOUT ROWID;
