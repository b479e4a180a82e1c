import HearthJSONWebTokens

/// How two nodes begin to talk: each proves that it has the cluster's secret, which is not sent.
///
/// ```
/// 1. caller:  "HRTHPEER" version:2 nonce:32 session:16 incarnation:8 name        `version` is the highest it speaks
/// 2. called:  version:2 nonce:32 incarnation:8 proof:32 name                      `version` is the one to speak
/// 3. caller:  proof:32
/// ```
/// A caller of a later version may speak this one too: then the called side says so, and the caller goes on or ends. So
/// nodes of two versions can work together, whichever of them calls.
///
/// The called side proves that it has the secret that it uses. A caller that knows another one too goes on with the
/// one that was proved (``ClusterSecret``).
///
/// A proof is an HMAC-SHA256, with the secret as its key, of the role and of both first messages but for the proof. The
/// same with another word is the key of the codes of all later frames.
package enum PeerHandshake {
    /// The highest version that this program speaks. Version 2 has messages by which nodes follow each other.
    static let version: UInt16 = 2
    private static let versionMin: UInt16 = 1
    private static let magic = Array("HRTHPEER".utf8)
    private static let nonceSize = 32
    static let proofSize = 32
    static let sessionSize = 16

    package enum Failure: Error, Hashable {
        /// It is not a message of this protocol.
        case malformed
        case unknownVersion(UInt16)
        /// The other side does not have the secret.
        case wrongSecret
    }

    /// The first message of either side.
    package struct Hello: Hashable {
        var version = PeerHandshake.version
        var nonce: [UInt8]
        var session: [UInt8] = []
        var incarnation: UInt64
        var name: String

        package init(name: String, incarnation: UInt64, session: [UInt8] = []) {
            nonce = Cryptography.randomBytes(PeerHandshake.nonceSize)
            self.session = session
            self.incarnation = incarnation
            self.name = name
        }

        fileprivate init(version: UInt16, nonce: [UInt8], session: [UInt8], incarnation: UInt64, name: String) {
            (self.version, self.nonce, self.session) = (version, nonce, session)
            (self.incarnation, self.name) = (incarnation, name)
        }

        fileprivate var fields: [UInt8] {
            let number = withUnsafeBytes(of: incarnation.bigEndian) { Array($0) }
            return [UInt8(version >> 8), UInt8(version & 0xFF)] + nonce + session + number + Array(name.utf8)
        }

        /// - parameter versions: those that are known.
        fileprivate static func parse(
            _ bytes: ArraySlice<UInt8>, sessionSize: Int, versions: ClosedRange<UInt16>
        ) throws(Failure) -> Hello {
            guard bytes.count >= 2 + nonceSize + sessionSize + 8 else { throw .malformed }
            let version = UInt16(bytes.first!) << 8 | UInt16(bytes.dropFirst().first!)
            guard versions.contains(version) else { throw .unknownVersion(version) }
            var rest = bytes.dropFirst(2)
            func take(_ count: Int) -> [UInt8] {
                defer { rest = rest.dropFirst(count) }
                return Array(rest.prefix(count))
            }
            let (nonce, session) = (take(nonceSize), take(sessionSize))
            let incarnation = take(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            guard let name = String(validating: rest, as: UTF8.self), NodeName.isValid(name) else {
                throw .malformed
            }
            return Hello(version: version, nonce: nonce, session: session, incarnation: incarnation, name: name)
        }
    }

    package static func message(from caller: Hello) -> [UInt8] { magic + caller.fields }

    package static func caller(_ message: ArraySlice<UInt8>) throws(Failure) -> Hello {
        guard message.starts(with: magic) else { throw .malformed }
        return try Hello.parse(
            message.dropFirst(magic.count), sessionSize: sessionSize, versions: versionMin...UInt16.max)
    }

    /// - parameter caller: the position that the called side has received.
    package static func message(from called: Hello, to caller: Hello, _ secret: ClusterSecret) -> [UInt8] {
        let proof = secret.code(of: "called", transcript(caller, called))
        var bytes = called.fields
        bytes.insert(contentsOf: proof, at: 2 + nonceSize + 8)
        return bytes
    }

    /// The other side, which has proved that it has a secret that the caller knows.
    ///
    /// - parameter secret: becomes the one that was proved, which is that of the connection.
    package static func called(
        _ message: ArraySlice<UInt8>, by caller: Hello, _ secret: inout ClusterSecret
    ) throws(Failure) -> Hello {
        let head = 2 + nonceSize + 8
        guard message.count >= head + proofSize else { throw .malformed }
        let proof = Array(message.dropFirst(head).prefix(proofSize))
        let called = try Hello.parse(
            message.prefix(head) + message.dropFirst(head + proofSize), sessionSize: 0,
            versions: versionMin...max(versionMin, min(version, caller.version)))
        let transcript = transcript(caller, called)
        let proved = [secret, secret.other].compactMap(\.self).first {
            Cryptography.areEqual(proof, $0.code(of: "called", transcript))
        }
        guard let proved else { throw .wrongSecret }
        secret = proved
        return called
    }

    static func proof(of caller: Hello, to called: Hello, _ secret: ClusterSecret) -> [UInt8] {
        secret.code(of: "caller", transcript(caller, called))
    }

    package static func check(
        _ proof: ArraySlice<UInt8>, of caller: Hello, to called: Hello, _ secret: ClusterSecret
    ) throws(Failure) {
        guard Cryptography.areEqual(Array(proof), self.proof(of: caller, to: called, secret)) else {
            throw .wrongSecret
        }
    }

    static func key(_ caller: Hello, _ called: Hello, _ secret: ClusterSecret) -> [UInt8] {
        secret.code(of: "frames", transcript(caller, called))
    }

    private static func transcript(_ caller: Hello, _ called: Hello) -> [UInt8] {
        let (first, second) = (caller.fields, called.fields)
        return [UInt8(first.count >> 8), UInt8(first.count & 0xFF)] + first + second
    }
}

/// The codes of the frames of a connection, in one direction: without the keys frames cannot be forged, changed,
/// repeated or left out.
struct FrameCodes {
    static let size = 16
    private let digest: KeyedDigest
    private var count: UInt64 = 0

    init(key: [UInt8], isOfCaller: Bool) {
        digest = KeyedDigest(key: Cryptography.hmacSHA256([isOfCaller ? 1 : 2], key: key))
    }

    /// The code of the next frame.
    mutating func next(_ frame: ArraySlice<UInt8>) -> [UInt8] {
        count += 1
        let code = digest.digest { add in
            withUnsafeBytes(of: count.bigEndian, add)
            frame.withUnsafeBytes(add)
        }
        return Array(code.prefix(Self.size))
    }

    mutating func check(_ code: ArraySlice<UInt8>, _ frame: ArraySlice<UInt8>) -> Bool {
        Cryptography.areEqual(Array(code), next(frame))
    }
}
