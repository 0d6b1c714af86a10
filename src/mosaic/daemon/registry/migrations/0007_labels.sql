-- What a person gives a run: tags (one a line) and a note. Names become unique: see name_apart.
ALTER TABLE runs ADD COLUMN tags TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN note TEXT NOT NULL DEFAULT '';
CREATE INDEX runs_by_name ON runs (run_name);
