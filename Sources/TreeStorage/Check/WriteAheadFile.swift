import Glibc

/// Looks for damage in the write-ahead file of a database, which SQLite will apply when it is opened.
///
/// SQLite reads such a file up to the first frame that is not whole, and takes frames after it for the remains of
/// earlier use: so it ends silently at a damaged frame. Frames of the present use carry the salts of the file's head.
/// Each commit is synced before the next one is written, so at most one of those after the end can come from a crash; a
/// second one proves that a commit was there which is lost. That does not hold for the log of a node of a cluster.
///
/// Source: "The WAL File Format", sqlite.org/fileformat2.html.
enum WriteAheadFile {
    private static let headBytes = 32
    private static let frameHeadBytes = 24

    /// Whether commits are lost that were on the disk. False for a file that is whole, empty or not there.
    static func hasLostCommits(_ path: String) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        guard let head = read(descriptor, at: 0, count: headBytes) else { return false }
        let magic = word(head, 0)
        let pageBytes = Int(word(head, 8)) == 1 ? 65_536 : Int(word(head, 8))
        guard magic & ~1 == 0x377F_0682, (512...65_536).contains(pageBytes), pageBytes.nonzeroBitCount == 1 else {
            return false
        }
        var chain = Checksum(isBigEndian: magic & 1 == 1)
        chain.add(head[..<24])
        var isWhole = chain.matches(head, at: 24)
        let salts = head[16..<24]
        var offset = headBytes
        var unreachable = 0
        while let frame = read(descriptor, at: offset, count: frameHeadBytes + pageBytes) {
            offset += frame.count
            let isPresent = frame[8..<16] == salts
            if isWhole {
                chain.add(frame[..<8])
                chain.add(frame[frameHeadBytes...])
                isWhole = isPresent && chain.matches(frame, at: 16)
            }
            // Only the last frame of a commit has the size of the database.
            if !isWhole, isPresent, word(frame, 4) != 0 { unreachable += 1 }
            if unreachable > 1 { return true }
        }
        return false
    }

    private static func read(_ descriptor: Int32, at offset: Int, count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        return pread(descriptor, &bytes, count, off_t(offset)) == count ? bytes : nil
    }

    private static func word(_ bytes: [UInt8], _ offset: Int) -> UInt32 {
        (0..<4).reduce(0) { $0 << 8 | UInt32(bytes[offset + $1]) }
    }

    /// Runs on from frame to frame.
    private struct Checksum {
        let isBigEndian: Bool
        private var first: UInt32 = 0
        private var second: UInt32 = 0

        init(isBigEndian: Bool) { self.isBigEndian = isBigEndian }

        /// A multiple of eight bytes.
        mutating func add(_ bytes: ArraySlice<UInt8>) {
            bytes.withUnsafeBytes { bytes in
                for offset in stride(from: 0, to: bytes.count, by: 8) {
                    let one = bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
                    let two = bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
                    first &+= (isBigEndian ? UInt32(bigEndian: one) : UInt32(littleEndian: one)) &+ second
                    second &+= (isBigEndian ? UInt32(bigEndian: two) : UInt32(littleEndian: two)) &+ first
                }
            }
        }

        func matches(_ bytes: [UInt8], at offset: Int) -> Bool {
            word(bytes, offset) == first && word(bytes, offset + 4) == second
        }
    }
}
