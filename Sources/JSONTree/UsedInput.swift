/// The part of a text that a parser has read, as memory in which it puts members in order. So a large value needs
/// little more memory than its text and itself.
///
/// The contents are lost. The number of lines and columns is kept, for the position of an error.
struct UsedInput {
    /// Nil if the text is not the parser's to use.
    let memory: UnsafeMutableRawPointer?
    /// The text had these complete lines before the offset, and these characters after the last of them.
    private var (offset, lines, characters) = (0, 0, 0)

    /// - parameter memory: the parser's input, or nil.
    init(_ memory: UnsafeMutableRawPointer?) { self.memory = memory }

    /// The memory of the first `count` bytes, which the parser has read. O(bytes since the last call).
    mutating func take(_ count: Int) -> UnsafeMutableRawBufferPointer {
        guard let memory else { return UnsafeMutableRawBufferPointer(start: nil, count: 0) }
        for byte in UnsafeRawBufferPointer(start: memory + offset, count: count - offset) {
            if byte == UInt8(ascii: "\n") {
                lines += 1
                characters = 0
            } else if byte & 0xC0 != 0x80 {
                characters += 1
            }
        }
        offset = count
        return UnsafeMutableRawBufferPointer(start: memory, count: count)
    }

    /// Gives the memory as many lines and characters as it had, for ``JSONError/position(in:)``, and moves an error
    /// whose place is lost to the end of the used input.
    func restoreLines(for error: JSONError) -> JSONError {
        guard let memory, offset > 0 else { return error }
        let used = UnsafeMutableRawBufferPointer(start: memory, count: offset)
        let end = lines + characters
        for index in 0..<lines { used[index] = UInt8(ascii: "\n") }
        for index in lines..<end { used[index] = UInt8(ascii: " ") }
        // Not the first byte of a character.
        for index in end..<offset { used[index] = 0x80 }
        return error.offset < offset ? JSONError(error.kind, at: offset) : error
    }
}
