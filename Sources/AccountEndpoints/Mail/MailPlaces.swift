/// The places of mails that wait or are being sent. A client may have as many as it leaves free: one alone half of
/// them, two a third each, and so on. A quarter is for mails that nobody has asked for, since nobody asks again.
struct MailPlaces {
    private let capacity: Int
    private var count = 0
    /// Those of each client that has some.
    private var counts: [String: Int] = [:]

    init(capacity: Int) { self.capacity = capacity }

    /// False if there is none.
    ///
    /// - parameter client: the network address of the client; empty if it is not known.
    /// - parameter isAskedFor: the client has asked for the mail.
    mutating func take(for client: String, isAskedFor: Bool) -> Bool {
        let own = counts[client, default: 0]
        let limit = isAskedFor ? capacity - capacity / 4 : capacity
        guard count + (client.isEmpty ? 0 : own) < limit else { return false }
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
