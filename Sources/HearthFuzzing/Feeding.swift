/// How a stream of bytes reaches an incremental parser, whose results must not depend on it.
enum Feeding: CaseIterable {
    case whole
    case byteByByte
    /// In pieces whose lengths the bytes themselves give, so that a fuzzer can choose where to cut.
    case inPieces

    /// Each piece has an allocation of its own size, so that an address sanitizer sees a read outside it or after it.
    func feed(_ bytes: UnsafeRawBufferPointer, to consume: (UnsafeMutableRawBufferPointer) -> Void) {
        var rest = bytes[...]
        while let first = rest.first {
            let length =
                switch self {
                case .whole: rest.count
                case .byteByByte: 1
                case .inPieces: Int(first % 61) + 1
                }
            let piece = rest.prefix(length)
            let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: piece.count, alignment: 1)
            copy.copyBytes(from: piece)
            consume(copy)
            copy.deallocate()
            rest = rest.dropFirst(piece.count)
        }
    }
}

/// Runs `record` once for each way of feeding, and traps when two transcripts differ.
func expectSameTranscript(_ record: (Feeding, inout Transcript) -> Void) {
    func transcript(_ feeding: Feeding) -> [UInt8] {
        var transcript = Transcript()
        record(feeding, &transcript)
        return transcript.bytes
    }
    let whole = transcript(.whole)
    for feeding in Feeding.allCases.dropFirst() {
        let other = transcript(feeding)
        if other == whole { continue }
        // Unlike a precondition, this keeps its text in a release build.
        fatalError("split \(feeding): \(text(other)), whole: \(text(whole))")
    }
}

private func text(_ transcript: [UInt8]) -> String {
    String(decoding: transcript, as: UTF8.self).debugDescription
}

/// The reports of a parser, as bytes to compare.
struct Transcript {
    private(set) var bytes: [UInt8] = []

    /// Adds a part, set apart from the next by its length.
    mutating func add(_ part: some Sequence<UInt8>) {
        let part = [UInt8](part)
        bytes.append(contentsOf: "\(part.count):".utf8)
        bytes.append(contentsOf: part)
    }

    mutating func add(_ text: String) { add(text.utf8) }
}
