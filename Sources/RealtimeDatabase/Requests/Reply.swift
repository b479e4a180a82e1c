package import HearthJSONTree
package import HearthSecurityRules

package enum Reply: Sendable {
    case done
    /// A listener is registered.
    case listening
    /// The same of a query that had to look at all children because it had no index; with the one that would serve a
    /// query with conditions, as text of a settings file.
    case listeningUnindexed(needs: [UInt8]? = nil)
    /// A listener that is told of positions is registered. `recovered` when it was told of what changed, and of
    /// nothing else.
    case listeningAt(Position, recovered: Bool, unindexed: Bool = false)
    case value(CanonicalJSON)
    indirect case explained(Explanation)
    case failed(Failure)
}
