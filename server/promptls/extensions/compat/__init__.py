"""Profiles that reproduce five other prompt pipelines, so that they can be compared on the same index.

Each is registered in the entry-point group `promptls.profiles`, like the profile of a plugin, and is imported
only when it is requested.  Constants and formulas follow the original; where its code and its documentation
differ, the documentation is followed.

    attune       word-set overlap, passages between sentinels
    codebuddy    keyword classifier, syntax search, keyword density
    cody         tf-idf over terms, one message per item
    prompto      three fused rankings, boosts, six task templates
    understand   context from the knowledge graph (Understand-Anything)
"""
