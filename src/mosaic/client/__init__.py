"""The Python client: `TrainerClient`, and `AsyncTrainerClient` for asyncio."""

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.client.trainer_client import TrainerClient

__all__ = ["AsyncTrainerClient", "TrainerClient"]
