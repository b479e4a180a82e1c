import CHearthZlib
package import HearthWebSocketCodec

/// Compresses messages for permessage-deflate (RFC 7692 section 7.2.1).
///
/// With context takeover it belongs to one connection and one direction. Without, it remembers nothing between
/// messages and serves any number of connections of one event loop. zlib's state (see `DeflatePolicy.memoryLevel`) is
/// made with the first message and can be given back at any time.
package final class Deflater {
    private let direction: DeflateParameters.Direction
    private let level: Int32
    private let memoryLevel: Int32
    /// On the heap, because zlib's state points back at it.
    private var stream: UnsafeMutablePointer<z_stream>?

    /// - Parameters:
    ///   - direction: the promise of this end. Window bits below 9 count as 9.
    ///   - level: 1 (fast) to 9 (small).
    ///   - memoryLevel: 1 to 9.
    package init(_ direction: DeflateParameters.Direction, level: Int = 6, memoryLevel: Int = 8) {
        self.direction = DeflateParameters.Direction(
            noContextTakeover: direction.noContextTakeover,
            windowBits: min(max(direction.windowBits, DeflateParameters.windowBitsMin), 15))
        self.level = Int32(min(max(level, 1), 9))
        self.memoryLevel = Int32(min(max(memoryLevel, 1), 9))
    }

    deinit { release() }

    /// Gives zlib's state back. The next message starts a new one and refers to nothing before it, which every peer
    /// can read.
    package func release() {
        guard let stream else { return }
        deflateEnd(stream)
        stream.deallocate()
        self.stream = nil
    }

    /// Whether a payload compressed by this may be sent to a peer that agreed to `parameters`. It must not refer to
    /// messages that the peer did not see, must not need a larger window than the peer has, and must not slip past a
    /// compressor of that connection's own that does refer back.
    package func serves(_ parameters: DeflateParameters, from role: WebSocketRole) -> Bool {
        let agreed = parameters.outgoing(role)
        return direction.noContextTakeover && agreed.noContextTakeover && direction.windowBits <= agreed.windowBits
    }

    /// Appends the compressed payload of a message, to be sent in frames the first of which is marked as compressed.
    /// Without context takeover the same payload may go to every connection that this `serves`.
    ///
    /// - Returns: false, with `output` as it was, if there is no memory for zlib; the message can then be sent as it
    ///   is.
    package func compress(_ message: RawSpan, to output: inout [UInt8]) -> Bool {
        if message.isEmpty {
            // An empty stored block without its end (RFC 7692 section 7.2.3.6); zlib writes none if nothing is new.
            output.append(0x00)
            return true
        }
        guard let stream = stream ?? open() else { return false }
        let start = output.count
        message.withUnsafeBytes { deflate($0, with: stream, to: &output) }
        guard output[start...].suffix(4).elementsEqual([0x00, 0x00, 0xFF, 0xFF]) else {
            output.removeLast(output.count - start)
            release()
            return false
        }
        output.removeLast(4)
        if direction.noContextTakeover { deflateReset(stream) }
        return true
    }

    private func open() -> UnsafeMutablePointer<z_stream>? {
        let new = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        new.initialize(to: z_stream())
        guard czlib_deflate_init_raw(new, level, Int32(direction.windowBits), memoryLevel) == Z_OK else {
            new.deallocate()
            return nil
        }
        stream = new
        return new
    }

    private func deflate(
        _ message: UnsafeRawBufferPointer, with stream: UnsafeMutablePointer<z_stream>, to output: inout [UInt8]
    ) {
        // zlib counts in 32 bits.
        var rest = message[...]
        repeat {
            let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.pieceMax))
            rest = rest[(rest.startIndex + piece.count)...]
            stream.pointee.next_in = UnsafeMutablePointer(
                mutating: piece.baseAddress?.assumingMemoryBound(to: UInt8.self))
            stream.pointee.avail_in = UInt32(piece.count)
            let flush = rest.isEmpty ? Z_SYNC_FLUSH : Z_NO_FLUSH
            // The bound is for a finished stream; a flush writes a few bytes more. Ends when room is left over.
            let room = Int(deflateBound(stream, UInt(piece.count))) + 16
            repeat {
                output.append(addingCapacity: room) { free in
                    free.withUnsafeMutableBufferPointer { bytes, count in
                        stream.pointee.next_out = bytes.baseAddress?.advanced(by: count)
                        stream.pointee.avail_out = UInt32(room)
                        _ = CHearthZlib.deflate(stream, flush)
                        count += room - Int(stream.pointee.avail_out)
                    }
                }
            } while stream.pointee.avail_out == 0
        } while !rest.isEmpty
    }

    private static let pieceMax = 1 << 30
}
