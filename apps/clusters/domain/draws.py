"""How many independent draws of a backend stand behind the reads of a pgpool.

A session draws its backend once and then sends as many reads as it likes: a few busy sessions move the shares as far as
a few draws do, however many sessions there were. How far the shares moved, from one stretch of time to the next, tells.
"""

import math
from collections.abc import Mapping, Sequence

BLOCK_S = 15
SPAN_S = 1800
MINIMUM_BLOCKS = 20
# A session moves neighbouring blocks alike: so far apart are two that still belong together, two minutes.
LONGEST_TIE_BLOCKS = 8
_HALF = LONGEST_TIE_BLOCKS // 2
# Where a moment holds more of the reads than this, the rest is no measure for it.
LARGEST_PULL = 0.8


def draws_per_read(blocks: Sequence[Mapping[int, int]]) -> float | None:
    """Independent draws per read, above 0 and at most 1; None where the blocks do not tell.

    blocks: node_id -> reads, one per BLOCK_S seconds in order of time, all under the same weights.

    n draws spread a share p by p(1 - p) / n (binomial). The spread is taken from the blocks as the long-run variance
    of a ratio estimator with Bartlett's weights (Newey and West, Econometrica 55, 1987), summed over the backends. A
    block that pulls the share towards itself is measured against the share without it and its neighbours, as a
    jackknife does: else the busiest sessions would hide themselves.
    """
    reads = [sum(block.values()) for block in blocks]
    total, filled = sum(reads), sum(count > 0 for count in reads)
    if filled < MINIMUM_BLOCKS:
        return None
    pull = [sum(reads[max(one - _HALF, 0) : one + _HALF + 1]) / total for one in range(len(reads))]
    if max(pull) > LARGEST_PULL:
        return None
    of_chance = spread = 0.0
    for node_id in {node_id for block in blocks for node_id in block}:
        counts = [block.get(node_id, 0) for block in blocks]
        share = sum(counts) / total
        of_chance += share * (1 - share)
        spread += _long_run(
            [(count - share * read) / (1 - one) for count, read, one in zip(counts, reads, pull, strict=True)]
        )
    if of_chance == 0 or spread <= 0:
        return None
    return min(of_chance * total / spread, 1.0)


def _long_run(deviations: Sequence[float]) -> float:
    """Variance of their sum, neighbours being tied; at least a fifth of what it were if they were not."""
    apart = math.fsum(one * one for one in deviations)
    tied = apart
    for lag in range(1, LONGEST_TIE_BLOCKS + 1):
        product = math.fsum(one * later for one, later in zip(deviations, deviations[lag:], strict=False))
        tied += 2 * (1 - lag / (LONGEST_TIE_BLOCKS + 1)) * product
    return max(tied, apart / 5)
