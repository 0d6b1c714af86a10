"""The field that chooses published parameters for an algorithm in an environment."""

from __future__ import annotations

from mosaic.contracts.catalogue import AlgorithmInfo
from mosaic.gui.forms.model.fields import Choice, Field, FieldKind

RECIPE = "recipe"
FROM_RECIPE = "from the recipe"
_NONE = ""


def recipe_fields(algorithm: AlgorithmInfo, env_id: str) -> list[Field]:
    """None where nobody has published any."""
    known = algorithm.recipes_for(env_id)
    if not known:
        return []
    return [
        Field(
            RECIPE,
            "Recipe",
            FieldKind.CHOICE,
            default=_NONE,
            choices=(
                Choice(_NONE, "none: the algorithm's defaults"),
                *(Choice(item.name, item.text, "\n".join(item.details)) for item in known),
            ),
            schema={"type": "string"},
            help=f"Published parameters for {env_id}",
        )
    ]
