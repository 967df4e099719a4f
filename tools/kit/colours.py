"""The palette of the whole collection: the colours of Okabe and Ito without their yellow, which
fades on white. Each is (on white, on black)."""

GREY, ORANGE = ("#555555", "#b8b8b8"), ("#e69f00", "#e69f00")
SKY, GREEN = ("#56b4e9", "#56b4e9"), ("#009e73", "#00b384")
PINK, RED = ("#cc79a7", "#d98cb6"), ("#d55e00", "#ee7c26")
BLUE = ("#0072b2", "#4aa3df")
# Of pages and pictures.
GROUND, TEXT, QUIET = ("#ffffff", "#14181e"), ("#1d2430", "#e6eaf0"), ("#5b6675", "#9aa7b6")
