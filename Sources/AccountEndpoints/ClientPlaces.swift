/// Places for work that waits or is under way. A client may have as many as it leaves free: one alone half of them, two
/// a third each, and so on.
struct ClientPlaces {
    private var count = 0
    /// The places of each client that has some.
    private var counts: [String: Int] = [:]

    /// - parameter client: the network address of the client; empty if it is not known.
    /// - parameter capacity: how many places there are.
    /// - returns: false if the client gets no place.
    mutating func take(for client: String, of capacity: Int) -> Bool {
        let own = counts[client, default: 0]
        guard count + (client.isEmpty ? 0 : own) < capacity else { return false }
        count += 1
        counts[client] = own + 1
        return true
    }

    mutating func free(for client: String) {
        count -= 1
        let own = counts[client, default: 0] - 1
        counts[client] = own > 0 ? own : nil
    }
}
