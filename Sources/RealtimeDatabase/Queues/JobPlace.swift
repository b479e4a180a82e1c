import HearthJSONTree
import HearthSecurityRules

/// One job of a queue.
struct JobPlace: Hashable {
    var queue: Path
    /// That of its key.
    var segment: [UInt8]

    var job: Path { Path(encoded: IndexCatalog.Queue.jobs(at: queue).encoded + segment) }

    var state: Path { Path(encoded: IndexCatalog.Queue.state(at: queue).encoded + segment) }

    var deadLetter: Path { Path(encoded: queue.appending(QueueDefinition.dead).encoded + segment) }
}
