import HearthRealtimeDatabase

/// Gives links their numbers, all in turn: when a number comes again, databases have long heard of the end of the link
/// that had it, and nothing of that keeps a new link waiting.
struct LinkNumbers {
    private var last = -1

    /// If no number is left, nodes share one, and wait for each other.
    mutating func next(except used: Set<Int>) -> Int {
        let all = (1...ConnectionID.linksMax).map { (last + $0) % ConnectionID.linksMax }
        last = all.first { !used.contains($0) } ?? all[0]
        return last
    }
}
