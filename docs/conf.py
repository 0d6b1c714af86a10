"""The documentation site: `make site` builds it, and every warning is an error."""

project = "MOSAIC"
author = "the MOSAIC team"
extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "MOSAIC"
html_static_path: list[str] = []
html_copy_source = False
html_show_sphinx = False
nitpicky = True
exclude_patterns = ["_build"]
