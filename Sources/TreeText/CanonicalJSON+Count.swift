package import HearthJSONTree

extension CanonicalJSON {
    /// O(bytes).
    package var childCount: Int {
        var count = 0
        for _ in children { count += 1 }
        return count
    }
}
