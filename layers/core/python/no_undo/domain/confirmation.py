"""The two plain words an approver types to show that a person has read the card.

Rules:
1. The words follow from the plan digest and the approver alone, so every opening of one card shows
   the same two, and another plan or another approver has others.
2. They are no secret and no credential: the link is. They only tell a reader from a robot that
   submits forms, because they stand in a sentence and in no form value.
3. Case, white space and punctuation around the words do not matter; their order does.
4. No two words of the list differ in fewer than three letters: a slip of the finger is never
   another word.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import Final

# Changing the list changes the words on cards that are already out: then change the version too.
_VERSION: Final = b"no-undo confirmation words 1"
_LONGEST_TYPED = 200
_LETTERS = re.compile(r"[^\W\d_]+")

WORDS: Final[tuple[str, ...]] = tuple(
    """
    acorn admit agent album almond alpine amber anchor angle anthem apron arctic artist aspen
    atlas autumn avocado award badge bakery ballad bamboo banjo barrel basil beacon beaver bench
    bicycle biscuit blanket blossom bonfire bonus border bottle bounce bread brick bronze brush
    bubble bucket buffalo button cabbage cabin cactus camel canoe canvas caravan cargo carpet
    castle cedar cereal chalk chapter cherry chimney circle citrus cloud clover cobalt coconut
    coffee compass concert copper country coyote cradle cricket crystal curtain cushion daisy
    dancer delta denim desert diamond dolphin domino donkey dragon drawer drum earring earth echo
    eclipse elbow emerald engine envoy evening fabric falcon farmer feather fender fiddle flame
    forest fossil freckle galaxy garden garlic gazelle gentle ginger giraffe glacier goblet
    gondola granite gravel guitar habitat hallway harbor harvest helmet hornet husky iceberg igloo
    indigo insect iris island ivory jaguar jasmine jelly jewel jigsaw karate kayak kernel kitten
    koala ladder lagoon lantern lemon lentil leopard library lilac linen lizard lobster magnet
    maple meadow meteor mint mirror mosaic muffin museum mustard napkin nectar needle nickel novel
    nutmeg ocean olive onion opera orange orbit orchid otter oxygen package palace panda paper
    parrot peanut pelican penguin piano picnic pigeon pillow platform plaza poetry pollen pony
    popcorn potato prairie pumpkin puppet purple python quarry quilt rabbit radish raisin recipe
    ribbon river rodeo sailor saturn scarf shelter skate snowman spider spinach sponge spruce
    squash stable stream sugar sunrise sunset swallow symbol syrup teapot temple thistle thunder
    topaz trumpet tulip tundra tunnel unicorn valley vanilla village violin volcano voyage waffle
    walnut weasel window yogurt zebra
    """.split()  # noqa: SIM905 - 256 quotation marks would hide the words
)


def words_for(digest: str, approver: str) -> tuple[str, str]:
    """Return the two different words for one approver and one plan.

    Args:
        digest: The plan digest, as text.
        approver: The approver's address; case does not matter.
    """
    material = b"\0".join((_VERSION, digest.encode(), approver.casefold().encode()))
    first, step = hashlib.sha256(material).digest()[:2]
    # The second word lies 1 to 255 places after the first, around the list: never the same.
    second = (first + 1 + step % (len(WORDS) - 1)) % len(WORDS)
    return WORDS[first], WORDS[second]


def matches(typed: str, digest: str, approver: str) -> bool:
    """Return True when the typed text is the two words, in constant time for their length.

    Args:
        typed: What the approver typed; anything over 200 characters never matches.
        digest: The plan digest of the card that was shown.
        approver: The approver's address.
    """
    if len(typed) > _LONGEST_TYPED:
        return False
    given = " ".join(_LETTERS.findall(typed.casefold()))
    expected = " ".join(words_for(digest, approver))
    return hmac.compare_digest(given.encode(), expected.encode())
