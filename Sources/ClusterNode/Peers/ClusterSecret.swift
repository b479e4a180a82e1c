import HearthJSONWebTokens
import HearthSystem

/// The shared secret of the nodes of a cluster, by which they recognise each other. While it is being replaced by
/// another one, a node knows both: it uses the first, and accepts the other one too.
package struct ClusterSecret: Sendable {
    package struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
        package let description: String
    }

    private let bytes: [UInt8]
    /// The one that is accepted too.
    private var otherBytes: [UInt8]?

    /// A shorter one is easier to guess than a key.
    package static let byteCountMin = 32

    /// Reads a file that only its owner may read: one line, or two.
    package init(file path: String) throws(Failure) {
        let text: [UInt8]?
        do throws(PrivateFile.Failure) { text = try PrivateFile.read(path) } catch {
            throw Failure(description: error.description)
        }
        guard let text else { throw Failure(description: "\(path) is not there") }
        let lines = text.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
        let areGood = lines.allSatisfy { line in
            line.count >= Self.byteCountMin && line.allSatisfy { (0x21...0x7E).contains($0) }
        }
        guard (1...2).contains(lines.count), areGood else {
            throw Failure(
                description: "\(path) must hold one line of at least \(Self.byteCountMin) visible characters, such as "
                    + "that of 'openssl rand -hex 32', or two of them while the secret is being replaced")
        }
        bytes = Array(lines[0])
        otherBytes = lines.count == 2 ? Array(lines[1]) : nil
    }

    /// - parameter text: at least ``byteCountMin`` bytes.
    /// - parameter other: the one that is accepted too.
    package init(_ text: String, accepting other: String? = nil) {
        bytes = Array(text.utf8)
        otherBytes = other.map { Array($0.utf8) }
    }

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The secret that is accepted too, if there is one.
    var other: ClusterSecret? { otherBytes.map { ClusterSecret($0) } }

    /// The key of texts that only nodes may read.
    var sealingKey: [UInt8] { code(of: "sealing", []) }

    /// A code that only those who have the secret can make.
    func code(of purpose: StaticString, _ text: [UInt8]) -> [UInt8] {
        Cryptography.hmacSHA256(Array("hearth \(purpose)\n".utf8) + text, key: bytes)
    }
}
