"""Quantiles of the beta distribution, for the exact bound of a binomial rate."""

class _Beta:
    def ppf(self, q: float, a: float, b: float) -> float: ...

beta: _Beta
