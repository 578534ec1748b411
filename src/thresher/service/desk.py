"""Where routes have their requests served: the releases, and the worker that computes."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from thresher.release import Release
from thresher.service.refusal import Refusal
from thresher.service.worker import Deadline, Worker


def as_json(value: object) -> Response:
    """A response of JSON."""
    return Response(json.dumps(value, allow_nan=False), media_type="application/json")


@dataclass(frozen=True)
class Desk:
    """The releases of a service, and what computes for them.

    Attributes:
        releases: The releases, by name.
        worker: The thread that computes.
    """

    releases: Mapping[str, Release]
    worker: Worker

    def release(self, name: str) -> Release:
        """The release of a name; a Refusal that names those that there are, if there is none."""
        found = self.releases.get(name)
        if found is None:
            known = ", ".join(list(self.releases)[:20])
            raise Refusal(404, f"there is no release of this name; there are: {known}")
        return found

    async def json(self, name: str, work: Callable[[Release, Deadline], Any]) -> Response:
        """What some work on a release gives, as JSON. It is written in the worker's thread, too."""
        release = self.release(name)
        return await self.worker.run(lambda deadline: as_json(work(release, deadline)))
