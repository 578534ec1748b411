"""The shapes of what the API gives back, for its OpenAPI document."""

from typing import Annotated, Any

from pydantic import BaseModel, Field

from thresher.service.refusal import Fault

ReadAs = Annotated[
    str | None, Field(description="How the conditions were read, if not to the letter.")
]


class Summary(BaseModel):
    """A release in a list."""

    name: str
    created: str = Field(description="When it was made, in UTC.")
    mechanism: str
    n: int = Field(description="The number of records, persons or rows.")
    counted: str = Field(description="What `n` is the number of.")
    features: list[str]
    epsilon: float
    delta: float
    private: bool = Field(description="False if the noise came from a seed, for an experiment.")
    can_sample: bool = Field(description="Whether it has synthetic records.")


class Listing(BaseModel):
    """All releases of the service."""

    releases: list[Summary]


class AnswerFound(BaseModel):
    """The answer to a query, with its margins of error."""

    query: str
    answer: float | None = Field(description="The share of people; null if it is of nobody.")
    error_bar: float | None = Field(
        description="The margin of error at 95 %; null where nothing is known about it."
    )
    count: float | None = Field(description="The share times `n`.")
    count_error_bar: float | None = Field(description="The margin of error of the count.")
    is_estimated: bool = Field(description="Whether the margins of error are estimates.")
    read_as: ReadAs


class AnswerRefused(BaseModel):
    """Why a query among others has no answer."""

    query: str
    error: Fault


class Answers(BaseModel):
    """The answers to many queries, in their order."""

    answers: list[AnswerFound | AnswerRefused]


class Cell(BaseModel):
    """One combination of values, or a total, with margins of error at 95 %."""

    values: list[str] = Field(description="The labels, in the order of the features.")
    share: float | None = Field(description="The share of all people.")
    margin: float | None
    count: float | None = Field(description="The share times `n`.")
    count_margin: float | None
    percent: float | None = Field(None, description="If percentages are asked for.")
    percent_margin: float | None = None
    unreliable: bool = Field(description="Whether the margin is above half of the value.")
    estimated: bool = Field(description="Whether the margin is an estimate.")


class Table(BaseModel):
    """All combinations of the values of some features, and totals."""

    features: list[str]
    where: str | None
    read_as: ReadAs
    percent: str | None
    cells: list[Cell]


class Number(BaseModel):
    """A number with its 95 % interval."""

    value: float
    low: float
    high: float
    is_estimated: bool = Field(description="Whether the interval is an estimate.")


class Quantile(Number):
    """The number that a part of people are at or below."""

    part: float


class Bar(BaseModel):
    """A bin of a histogram, with margins of error at 95 %."""

    from_: float = Field(alias="from")
    to: float
    share: float | None = Field(description="Of those who have a number.")
    margin: float | None
    count: float | None
    count_margin: float | None


class NumbersFound(BaseModel):
    """A feature of numbers in brief."""

    feature: str
    read_as: ReadAs
    people: float = Field(description="How many people have a number and meet the conditions.")
    people_margin: float | None
    mean: Number
    sum: Number
    quantiles: list[Quantile]
    histogram: list[Bar]


class NumberFound(Number):
    """The answer to a question about numbers."""

    query: str
    read_as: ReadAs


class Sample(BaseModel):
    """Synthetic records."""

    columns: list[str]
    rows: list[list[Any]] = Field(description="A list of values for each record.")
