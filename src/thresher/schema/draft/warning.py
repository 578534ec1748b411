"""What every draft says about itself."""

WARNING = (
    "This schema was drafted from the data itself. A schema read off private data is not itself "
    "private: it tells which values occur. Replace every range and category by what is publicly "
    "known (a code book, the questionnaire), delete each 'review' note once that is done, and only "
    "then publish it or fit with it."
)
