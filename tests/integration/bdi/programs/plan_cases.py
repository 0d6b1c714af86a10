"""Prints what is found in the plans that come as a JSON list on stdin, and in those shipped."""

from __future__ import annotations

import json
import sys

from spade_bdi_rl_worker.agents.plan_check import check_plan, check_term
from spade_bdi_rl_worker.agents.plan_source import parse_term, term_text
from spade_bdi_rl_worker.agents.settings import shipped_plan

given = json.load(sys.stdin)
shipped = {}
for role in ("learner", "coach", "observer"):
    shipped[role] = [str(problem) for problem in check_plan(shipped_plan(role), role)]
plans = [[str(problem) for problem in check_plan(text)] for text in given["plans"]]
terms = [[str(problem) for problem in check_term(text)] for text in given["terms"]]
same = [term_text(parse_term(term_text(parse_term(text)))) for text in given["same"]]
values = [str(parse_term(text).args[0]) for text in given["same"]]
told = {"shipped": shipped, "plans": plans, "terms": terms, "same": same, "values": values}
print(json.dumps(told))
