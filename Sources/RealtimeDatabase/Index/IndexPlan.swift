import HearthTreeQueries

/// A complete index that has what a query selects, alone or among others.
struct IndexPlan {
    let index: IndexCatalog.Index
    let ranges: IndexRanges

    /// Whether the index has exactly the selected children.
    var isExact: Bool { ranges.isExact }

    var constraintCount: Int { ranges.constraintCount }
}
