import HearthTestSupport
import Testing

import HearthBench

@Suite("Frame scanner")
struct FrameScannerTests {
    /// Payload sizes at the edges of the three length forms.
    private static let sizes = [0, 1, 125, 126, 127, 300, 65_535, 65_536, 70_000, 2]

    private static func frame(_ size: Int) -> [UInt8] {
        var frame: [UInt8] = [0x81]
        switch size {
        case ..<126: frame.append(UInt8(size))
        case ..<65_536: frame += [126, UInt8(size >> 8), UInt8(size & 0xFF)]
        default:
            frame.append(127)
            for shift in stride(from: 56, through: 0, by: -8) { frame.append(UInt8(size >> shift & 0xFF)) }
        }
        return frame + payload(size)
    }

    private static func payload(_ size: Int) -> [UInt8] { (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) } }

    private static func scan(_ pieces: [ArraySlice<UInt8>]) throws -> [[UInt8]] {
        var scanner = FrameScanner()
        var found: [[UInt8]] = []
        for piece in pieces {
            try piece.withUnsafeBytes { bytes in
                try scanner.scan(bytes) { (payload) throws(BenchError) in found.append(Array(payload)) }
            }
        }
        #expect(scanner.pendingCount == 0)
        return found
    }

    @Test("finds every frame in joined bytes")
    func joined() throws {
        let bytes = Self.sizes.flatMap(Self.frame)
        #expect(try Self.scan([bytes[...]]) == Self.sizes.map(Self.payload))
    }

    @Test("finds small frames byte by byte")
    func byteByByte() throws {
        let sizes = [0, 1, 125, 126, 300, 2]
        let bytes = sizes.flatMap(Self.frame)
        #expect(try Self.scan(bytes.indices.map { bytes[$0...$0] }) == sizes.map(Self.payload))
    }

    @Test("finds every frame however the bytes are cut", arguments: [1, 2, 3, 4] as [UInt64])
    func randomCuts(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let bytes = Self.sizes.flatMap(Self.frame)
        var pieces: [ArraySlice<UInt8>] = []
        var start = 0
        while start < bytes.count {
            let end = min(bytes.count, start + Int.random(in: 1...20_000, using: &random))
            pieces.append(bytes[start..<end])
            start = end
        }
        #expect(try Self.scan(pieces) == Self.sizes.map(Self.payload), "seed \(seed)")
    }

    @Test("refuses a masked frame, which no server sends")
    func masked() {
        let error = #expect(throws: BenchError.self) { try Self.scan([[0x81, 0x81, 1, 2, 3, 4, 5][...]]) }
        #expect(error?.message == "a server's frame is masked")
    }

    @Test("refuses a length that no frame has")
    func absurdLength() {
        let error = #expect(throws: BenchError.self) { try Self.scan([[0x81, 127, 0xFF, 0, 0, 0, 0, 0, 0, 0][...]]) }
        #expect(error?.message == "a frame is too long to be one")
    }

    @Test("an opening is complete with the blank line and one frame after it")
    func opening() throws {
        let head = Array("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n".utf8)
        let whole = head + Self.frame(130)
        for count in whole.indices { #expect(try !WebSocketOpening.isComplete(Array(whole[..<count]))) }
        #expect(try WebSocketOpening.isComplete(whole))
        let error = #expect(throws: BenchError.self) {
            try WebSocketOpening.isComplete(Array("HTTP/1.1 426 Upgrade Required\r\n\r\n".utf8))
        }
        #expect(error?.message == "the upgrade was refused")
    }
}
