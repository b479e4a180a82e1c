import HearthJSONWebTokens
import HearthSystem

/// The shared secret of the nodes of a cluster, by which they recognise each other.
package struct ClusterSecret: Sendable {
    package struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
        package let description: String
    }

    private let bytes: [UInt8]

    /// A shorter one is easier to guess than a key.
    package static let byteCountMin = 32

    /// Reads a file that only its owner may read: one line.
    package init(file path: String) throws(Failure) {
        let text: [UInt8]?
        do throws(PrivateFile.Failure) { text = try PrivateFile.read(path) } catch {
            throw Failure(description: error.description)
        }
        guard let text else { throw Failure(description: "\(path) is not there") }
        let lines = text.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
        guard lines.count == 1, lines[0].count >= Self.byteCountMin, lines[0].allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            throw Failure(
                description: "\(path) must hold one line of at least \(Self.byteCountMin) visible characters, such as "
                    + "that of 'openssl rand -hex 32'")
        }
        bytes = Array(lines[0])
    }

    /// - parameter text: at least ``byteCountMin`` bytes.
    package init(_ text: String) { bytes = Array(text.utf8) }

    /// The key of texts that only nodes may read.
    var sealingKey: [UInt8] { code(of: "sealing", []) }

    /// A code that only those who have the secret can make.
    func code(of purpose: StaticString, _ text: [UInt8]) -> [UInt8] {
        Cryptography.hmacSHA256(Array("hearth \(purpose)\n".utf8) + text, key: bytes)
    }
}
