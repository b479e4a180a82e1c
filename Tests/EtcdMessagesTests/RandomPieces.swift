import HearthTestSupport

/// Bytes as a connection may deliver them.
func randomPieces(of stream: [UInt8], seed: UInt64) -> [ArraySlice<UInt8>] {
    var random = SeededRandom(seed: seed)
    var pieces: [ArraySlice<UInt8>] = []
    var rest = stream[...]
    while !rest.isEmpty {
        let piece = rest.prefix(Int.random(in: 1...60, using: &random))
        pieces.append(piece)
        rest = rest.dropFirst(piece.count)
    }
    return pieces
}
