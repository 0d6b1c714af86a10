import pytest

from mosaic.gui.wandb.model import web_link


@pytest.mark.parametrize("address", ["https://wandb.ai/me/p/runs/1", "http://127.0.0.1:8080/x"])
def test_an_address_of_the_web_can_be_opened(address: str) -> None:
    assert web_link(address) == address


@pytest.mark.parametrize(
    "address",
    [
        "",
        "file:///etc/passwd",
        "/usr/bin/xterm",
        "javascript:alert(1)",
        "smb://host/share",
        "HTTPS:no",
        " https://wandb.ai",
        "https://wandb.ai/\u202etxt",
        "https://wandb.ai/\x1b]0;x\x07",
    ],
)
def test_what_a_manifest_claims_to_be_a_link_is_not_opened(address: str) -> None:
    assert web_link(address) == ""
