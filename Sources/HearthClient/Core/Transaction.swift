import HearthJSONTree
import HearthWireProtocol

/// A change that depends on the present value. It is computed from the known value and sent with that value's hash. If
/// the server has another value, it is computed again from that one.
final class Transaction {
    /// The outcome: whether it took effect, and the value afterwards.
    typealias Outcome = Result<(isCommitted: Bool, value: Node), DatabaseError>

    static let attemptsMax = 25

    let path: Path
    /// Whether observers see the estimated result.
    let isVisible: Bool
    /// The new value for an old one; nil to leave it.
    let change: (Node) -> Result<WireAssignment?, DatabaseError>
    let completion: (Outcome) -> Void
    /// The observer that keeps the value up to date until the end.
    var keeper = 0
    var attempts = 0
    /// The pending write; nil while the value is not known.
    var write: Int?
    /// A later write overrides it, unless this attempt takes effect.
    var isOverridden = false

    init(
        path: Path, isVisible: Bool, change: @escaping (Node) -> Result<WireAssignment?, DatabaseError>,
        completion: @escaping (Outcome) -> Void
    ) {
        self.path = path
        self.isVisible = isVisible
        self.change = change
        self.completion = completion
    }
}
