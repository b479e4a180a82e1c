/// The places of mails that wait or are being sent. A quarter is for mails that nobody has asked for, since nobody asks
/// again.
struct MailPlaces {
    private let capacity: Int
    private var places = ClientPlaces()

    init(capacity: Int) { self.capacity = capacity }

    /// - parameter client: the network address of the client; empty if it is not known.
    /// - parameter isAskedFor: the client has asked for the mail.
    /// - returns: false if the client gets no place.
    mutating func take(for client: String, isAskedFor: Bool) -> Bool {
        places.take(for: client, of: isAskedFor ? capacity - capacity / 4 : capacity)
    }

    mutating func free(for client: String) { places.free(for: client) }
}
