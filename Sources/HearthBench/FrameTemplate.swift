/// A client's frame, masked and ready to be sent, but for fields of fixed width that are filled in for each message.
///
/// In the text, a run of `#` is a field; the fields are numbered in their order.
package struct FrameTemplate {
    private static let key: [UInt8] = [0x9A, 0x3C, 0x5E, 0x71]

    package private(set) var bytes: [UInt8]
    private let mask: [UInt8]
    private let fields: [Range<Int>]
    private let payloadStart: Int

    package init(_ text: String) {
        let payload = Array(text.utf8)
        self.init(Self.frame(payload), payload, mask: Self.key)
    }

    /// A command for a Redis server (RESP 2).
    init(redis words: [String]) {
        let words = words.map { "$\($0.utf8.count)\r\n\($0)\r\n" }
        self.init(bare: "*\(words.count)\r\n\(words.joined())")
    }

    /// A text that goes out as it is.
    init(bare text: String) {
        let payload = Array(text.utf8)
        self.init(payload, payload, mask: [0, 0, 0, 0])
    }

    private init(_ bytes: [UInt8], _ payload: [UInt8], mask: [UInt8]) {
        self.bytes = bytes
        self.mask = mask
        payloadStart = bytes.count - payload.count
        var fields: [Range<Int>] = []
        for (index, byte) in payload.enumerated() where byte == UInt8(ascii: "#") {
            let place = payloadStart + index
            if let last = fields.last, last.upperBound == place {
                fields[fields.count - 1] = last.lowerBound..<place + 1
            } else {
                fields.append(place..<place + 1)
            }
        }
        self.fields = fields
    }

    /// Writes a decimal number into a field, with leading zeros; only the last digits that fit.
    package mutating func fill(_ field: Int, number: Int) {
        let places = fields[field]
        var rest = UInt64(number.magnitude)
        var place = places.upperBound
        while place > places.lowerBound {
            place -= 1
            put(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10), at: place)
            rest /= 10
        }
    }

    /// Writes characters into a field, which has their number.
    package mutating func fill(_ field: Int, characters: some Sequence<UInt8>) {
        for (place, character) in zip(fields[field], characters) { put(character, at: place) }
    }

    private mutating func put(_ byte: UInt8, at place: Int) {
        bytes[place] = byte ^ mask[(place - payloadStart) & 3]
    }

    /// A text frame with this payload.
    static func frame(_ payload: [UInt8]) -> [UInt8] {
        var frame = header(payloadCount: payload.count)
        frame.reserveCapacity(frame.count + payload.count)
        for (index, byte) in payload.enumerated() { frame.append(byte ^ key[index & 3]) }
        return frame
    }

    /// The header of a text frame with the masking key (RFC 6455 section 5.2).
    private static func header(payloadCount count: Int) -> [UInt8] {
        var header: [UInt8] = [0x81]
        switch count {
        case ..<126: header.append(0x80 | UInt8(count))
        case ..<65536: header += [0x80 | 126, UInt8(count >> 8), UInt8(count & 0xFF)]
        default:
            header.append(0x80 | 127)
            for shift in stride(from: 56, through: 0, by: -8) { header.append(UInt8(count >> shift & 0xFF)) }
        }
        return header + key
    }
}
