import tempfile
from pathlib import Path
from hypothesis import given, settings, strategies as st, HealthCheck
from mosaic.telemetry.event_decoder import *
from mosaic.telemetry.ingest import JournalIngest
from mosaic.telemetry import queries
from tests.strange_lines import strange_lines, damaged_events
from tests import journal_lines as lines
D=EventDecoder(lines.RUN_ID)
@settings(max_examples=15000, deadline=None)
@given(strange_lines)
def test_a(l): D.decode(l)
@settings(max_examples=1500, deadline=None,suppress_health_check=list(HealthCheck))
@given(st.lists(damaged_events,min_size=5,max_size=20))
def test_b(ls):
    with tempfile.TemporaryDirectory() as t:
        t=Path(t); (t/"e").write_bytes(b"\n".join(ls)+b"\n")
        j=JournalIngest(lines.RUN_ID,t/"e",t/"s"); r=j.step(); 
        assert not r.has_more
        j.recall(r.attempt)
        for e in queries.episodes(t/"s"): pass
        queries.lifecycle(t/"s"); queries.recent_metrics(t/"s",50); queries.metric_series(t/"s","loss",max_points=2)
        j.close()
        assert not list(t.glob("*corrupt*"))
