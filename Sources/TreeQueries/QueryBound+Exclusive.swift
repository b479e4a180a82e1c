package import HearthJSONTree

extension QueryBound {
    /// The same bound, which leaves out its own place. Without a key it leaves out all children of its value:
    /// `missingKey` is the last of them in the direction of the interval.
    package func exclusive(missingKey: BoundKey) -> QueryBound {
        QueryBound(value, key: key ?? missingKey, isInclusive: false)
    }
}
