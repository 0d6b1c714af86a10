"""Draws a study with Optuna's own plots, in a process of its own: `python -m` this module.

Optuna and matplotlib take seconds to import and hold the interpreter meanwhile, so nobody who
shows a window does. A request is one JSON document on standard input, the answer a PNG, whose text
`POINTS` says where in the picture of the history each trial is: in their order, from 0 to 1.
"""

from __future__ import annotations

import io
import json
import math
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

HISTORY, IMPORTANCE, PARALLEL = "history", "importance", "parallel"
KINDS = (HISTORY, IMPORTANCE, PARALLEL)
POINTS = "mosaic-points"
# Beyond, lines cover each other; the newest trials are drawn.
MOST_TRIALS = 2_000
_MOST_PARAMETERS = 12
_DPI = 100
_LONGEST_NAME = 28


def study_of(trials: Sequence[Mapping[str, Any]], direction: str) -> Any:
    """A study in memory: the file itself is never opened by Optuna, whose locks others wait for."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    is_maximised = direction == "MAXIMIZE"
    study = optuna.create_study(direction="maximize" if is_maximised else "minimize")
    names = list(dict.fromkeys(name for trial in trials for name in trial["params"]))
    spaces = {name: _distribution(trials, name) for name in names[:_MOST_PARAMETERS]}
    for trial in trials:
        params = {
            _short(name): _fitting(value, spaces[name])
            for name, value in trial["params"].items()
            if name in spaces
        }
        study.add_trial(
            optuna.trial.create_trial(
                value=trial["value"],
                params=params,
                distributions={
                    _short(name): spaces[name] for name in spaces if _short(name) in params
                },
            )
        )
    return study


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"…{name[-_LONGEST_NAME + 1 :]}"


def _distribution(trials: Sequence[Mapping[str, Any]], name: str) -> Any:
    """As wide as what was drawn from it; positive numbers of several sizes are on a log scale."""
    import optuna

    values = [trial["params"][name] for trial in trials if name in trial["params"]]
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        choices = list(dict.fromkeys(str(value) for value in values))
        return optuna.distributions.CategoricalDistribution(choices)
    low, high = min(values), max(values)
    is_log = low > 0 and high / low >= 100
    if all(isinstance(value, int) for value in values):
        return optuna.distributions.IntDistribution(low, high, log=is_log)
    return optuna.distributions.FloatDistribution(float(low), float(high), log=is_log)


def _fitting(value: Any, distribution: Any) -> Any:
    if hasattr(distribution, "choices"):
        return str(value)
    return float(value) if isinstance(distribution.low, float) else value


def draw(request: Mapping[str, Any]) -> bytes:
    """A request has `kind`, `trials`, `direction`, `width`, `height`, `scale` and `colours`."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from optuna.visualization import matplotlib as plots

    study = study_of(request["trials"], request["direction"])
    kind = request["kind"]
    if kind == HISTORY:
        axes = plots.plot_optimization_history(study)
    elif kind == IMPORTANCE:
        axes = plots.plot_param_importances(study, evaluator=_evaluator())
    else:
        axes = plots.plot_parallel_coordinate(study)
    figure: Any = axes.figure
    figure.set_size_inches(request["width"] / _DPI, request["height"] / _DPI)
    _dress(figure, request["colours"], kind, request["direction"] == "MAXIMIZE")
    picture = io.BytesIO()
    told = {POINTS: json.dumps(_points(figure))} if kind == HISTORY else {}
    figure.savefig(picture, format="png", dpi=_DPI * request["scale"], metadata=told)
    pyplot.close(figure)
    return picture.getvalue()


def _points(figure: Any) -> list[tuple[float, float]]:
    """From the left and from the top."""
    figure.draw_without_rendering()  # only then is it known how far the axes reach
    axes = figure.axes[0]
    places = axes.transData.transform(axes.collections[0].get_offsets())
    width, height = figure.canvas.get_width_height()
    return [(round(x / width, 5), round(1 - y / height, 5)) for x, y in places.tolist()]


def _evaluator() -> Any:
    """The usual one needs scikit-learn, which is large; this one is Optuna's as well."""
    from optuna.importance import PedAnovaImportanceEvaluator

    return PedAnovaImportanceEvaluator()


def _dress(figure: Any, colours: Mapping[str, str], kind: str, is_maximised: bool) -> None:
    """Optuna brings a style of its own; ours has the colours and sizes of the window."""
    text, muted, line, accent = (colours[key] for key in ("text", "muted", "line", "accent"))
    figure.patch.set_facecolor(colours["panel"])
    for axes in figure.axes:
        axes.set_facecolor(colours["plot"] if axes is figure.axes[0] else "none")
        for place in ("left", "center", "right"):
            axes.set_title("", loc=place)
        axes.tick_params(which="both", colors=muted, labelsize=8, length=0)
        for label in (axes.xaxis.label, axes.yaxis.label):
            label.set_color(muted)
            label.set_fontsize(8)
        for words in axes.texts:
            words.set_color(text)
            words.set_fontsize(8)
        for spine in axes.spines.values():
            spine.set_color(line)
        legend = axes.get_legend()
        if legend is not None:
            legend.remove()
        axes.grid(False)
    first = figure.axes[0]
    if kind == HISTORY:
        first.grid(True, color=line, linewidth=0.6)
        first.set_axisbelow(True)
        for points in first.collections:
            points.set_color(accent)
            points.set_sizes([16])
            points.set_alpha(0.8)
        for best in first.lines:
            best.set_color(colours["best"])
            best.set_alpha(1.0)
            best.set_linewidth(1.4)
    elif kind == IMPORTANCE:
        first.grid(True, axis="x", color=line, linewidth=0.6)
        first.set_axisbelow(True)
        first.set_ylabel("")
        for bar in first.patches:
            bar.set_color(accent)
    else:
        _dress_parallel(figure, colours, is_maximised)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        figure.tight_layout(pad=0.8)


def _dress_parallel(figure: Any, colours: Mapping[str, str], is_maximised: bool) -> None:
    """Thin lines, of which the good ones stand out, and numbers that are read upon them."""
    from matplotlib.patheffects import withStroke

    # The best ones are furthest from the background.
    is_rising = bool(colours["is_dark"]) == is_maximised
    for lines in figure.axes[0].collections:
        lines.set_cmap("viridis" if is_rising else "viridis_r")
        lines.set_linewidth(0.8)
        lines.set_alpha(0.75)
    halo = [withStroke(linewidth=3, foreground=colours["plot"])]
    for axes in figure.axes:
        for label in axes.get_yticklabels(which="both"):
            label.set_path_effects(halo)
            label.set_color(colours["text"])


def main(read: Callable[[], str], write: Callable[[bytes], object]) -> int:
    warnings.simplefilter("ignore")
    request = json.loads(read())
    trials = [trial for trial in request["trials"] if math.isfinite(trial["value"])]
    write(draw({**request, "trials": trials[-MOST_TRIALS:]}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.stdin.read, sys.stdout.buffer.write))
