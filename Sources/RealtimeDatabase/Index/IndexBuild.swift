import HearthSecurityRules

/// The making of an index's entries for data that was there before it.
struct IndexBuild {
    let index: IndexCatalog.Index
    var walk: CollectionWalk

    init(_ index: IndexCatalog.Index) {
        self.index = index
        walk = CollectionWalk(index.definition.pattern)
    }
}
