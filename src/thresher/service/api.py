"""The application: every route of the service."""

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Annotated, Any, Literal, TypeAlias

from fastapi import APIRouter, Body, FastAPI, Path, Query
from pydantic import StringConstraints
from starlette.responses import HTMLResponse, RedirectResponse, Response

from thresher.release import Release
from thresher.release.cross_table import Percent
from thresher.release.statement import statement_of
from thresher.service import answers, models
from thresher.service.desk import Desk, as_json
from thresher.service.guard import Guard
from thresher.service.limits import Limits
from thresher.service.pages import address_of, explorer_page, index_page
from thresher.service.refusal import Refused, refuse_in_one_shape
from thresher.service.releases import summary_of
from thresher.service.tables import table_of
from thresher.service.worker import Worker

SUMMARY = "Answers from releases of thresher. They cost no privacy: no record is ever read."

ReleaseName = Annotated[str, Path(description="The name of a release.")]
REFUSED: dict[int | str, dict[str, Any]] = {
    status: {"model": Refused} for status in (400, 404, 408, 413, 422, 429)
}


def application(
    releases: Mapping[str, Release],
    limits: Limits | None = None,
    hosts: Collection[str] = (),
) -> FastAPI:
    """The service as an ASGI application.

    Args:
        releases: The releases, by the names that they have in addresses.
        limits: How much one request may ask for.
        hosts: The names that requests may be sent to; empty for any.

    Example:
        >>> application({}).title
        'thresher'
    """
    limits = limits or Limits()
    worker = Worker(limits)

    @asynccontextmanager
    async def living(app: FastAPI) -> AsyncIterator[None]:
        yield
        worker.close()

    app = FastAPI(
        title="thresher", version=version("thresher"), description=SUMMARY, lifespan=living,
        docs_url=None, redoc_url=None,
    )  # fmt: skip
    desk = Desk(releases, worker)
    app.include_router(_pages(desk))
    app.include_router(_facts(desk), prefix="/v1", responses=REFUSED)
    app.include_router(_answers(desk, limits), prefix="/v1", responses=REFUSED)
    app.add_middleware(Guard, limits=limits, hosts=hosts)
    refuse_in_one_shape(app)
    return app


def _pages(desk: Desk) -> APIRouter:
    router = APIRouter(include_in_schema=False)
    made: dict[str, Response] = {}

    @router.get("/")
    async def index() -> Response:
        if len(desk.releases) == 1:
            return RedirectResponse(address_of(*desk.releases))
        return HTMLResponse(index_page(desk.releases))

    @router.get("/explore/{release}")
    async def explore(release: ReleaseName) -> Response:
        shown = desk.release(release)
        if release not in made:
            made[release] = await desk.worker.run(
                lambda _: HTMLResponse(explorer_page(release, shown))
            )
        return made[release]

    return router


def _facts(desk: Desk) -> APIRouter:
    """What needs no computing."""
    router = APIRouter()

    @router.get("/releases", response_model=models.Listing)
    async def releases() -> Response:
        """All releases of this service."""
        listed = [summary_of(name, release) for name, release in desk.releases.items()]
        return as_json({"releases": listed})

    @router.get("/releases/{release}", response_model=models.Summary)
    async def release(release: ReleaseName) -> Response:
        """One release."""
        return as_json(summary_of(release, desk.release(release)))

    @router.get("/releases/{release}/schema", response_model=dict[str, Any])
    async def schema(release: ReleaseName) -> Response:
        """The features of a release and their values, as its file schema.json has them."""
        return as_json(desk.release(release).schema.as_json())

    @router.get("/releases/{release}/statement", response_model=dict[str, Any])
    async def statement(release: ReleaseName) -> Response:
        """The privacy statement of a release, as its file statement.json has it."""
        return as_json(statement_of(desk.release(release)))

    return router


def _answers(desk: Desk, limits: Limits) -> APIRouter:
    """What is computed, by the worker."""
    router = APIRouter()
    text = StringConstraints(max_length=limits.characters)
    Where: TypeAlias = Annotated[
        str | None, text, Query(description="Conditions that all hold, to count nobody else.")
    ]

    @router.get("/releases/{release}/answer", response_model=models.AnswerFound)
    async def answer(
        release: ReleaseName,
        query: Annotated[str, text, Query(description="In the language of `thresher answer`.")],
    ) -> Response:
        """The share of people who meet a query, with its margin of error."""
        return await desk.json(release, lambda found, _: answers.answer_one(found, query))

    @router.post("/releases/{release}/answers", response_model=models.Answers)
    async def answer_many(
        release: ReleaseName,
        queries: Annotated[
            list[Annotated[str, text]], Body(embed=True, min_length=1, max_length=limits.queries)
        ],
    ) -> Response:
        """The answers to many queries. One that cannot be answered does not lose the others."""
        return await desk.json(
            release, lambda found, deadline: answers.answer_many(found, queries, deadline)
        )

    @router.get("/releases/{release}/table", response_model=models.Table)
    async def table(
        release: ReleaseName,
        feature: Annotated[
            list[str], Query(min_length=1, max_length=3, description="One to three features.")
        ],
        where: Where = None,
        percent: Annotated[Percent | None, Query(description="What percentages are of.")] = None,
    ) -> Response:
        """Shares and counts by one, two or three features, with totals and margins of error."""
        return await desk.json(
            release, lambda found, _: table_of(found, feature, where, percent, limits.cells)
        )

    @router.get("/releases/{release}/number", response_model=models.NumberFound)
    async def number(
        release: ReleaseName,
        query: Annotated[str, text, Query(description="Such as `mean of age among sex=Female`.")],
    ) -> Response:
        """A mean, sum or quantile of a feature of numbers, with its 95 % interval."""
        return await desk.json(release, lambda found, _: answers.number(found, query))

    @router.get("/releases/{release}/numbers", response_model=models.NumbersFound)
    async def numbers(
        release: ReleaseName,
        feature: Annotated[str, text, Query(description="Whole numbers, or bins.")],
        where: Where = None,
        bins: Annotated[
            int, Query(ge=1, le=1000, description="The most bins of the histogram.")
        ] = 20,
    ) -> Response:
        """The mean, sum, quartiles and histogram of a feature of numbers."""
        return await desk.json(
            release, lambda found, _: answers.numbers(found, feature, where, bins)
        )

    @router.get(
        "/releases/{release}/sample",
        response_model=models.Sample,
        responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}},
    )
    async def sample(
        release: ReleaseName,
        rows: Annotated[int, Query(ge=1, le=limits.rows, description="How many.")] = 100,
        seed: Annotated[
            int | None, Query(ge=0, lt=2**63, description="The same seed gives the same records.")
        ] = None,
        labels: Annotated[
            bool, Query(description="Whether labels such as unknown stand beside numbers.")
        ] = False,
        format: Annotated[Literal["json", "csv"], Query()] = "json",  # noqa: A002
    ) -> Response:
        """Synthetic records, drawn from D'."""
        if format == "json":
            return await desk.json(
                release, lambda found, _: answers.sampled(found, rows, seed, labels)
            )
        found = desk.release(release)
        return await desk.worker.run(
            lambda _: Response(
                answers.sampled_csv(found, rows, seed, labels), media_type="text/csv"
            )
        )

    return router
