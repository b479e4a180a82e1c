import Glibc
import HearthClusterNode
import HearthJSONWebTokens
import HearthShell
import HearthSystem

/// `hearth cluster certificates`: an authority of the cluster's own, and a certificate for each machine.
struct ClusterCertificates {
    private let folder: String
    private let validity: Range<Int64>

    /// A certificate is valid for so many days.
    static let daysDefault = 3650

    init(folder: String, days: Int) {
        self.folder = folder
        let now = WallClock.milliseconds / 1000
        // Clocks of machines differ.
        validity = (now - 3600)..<(now + Int64(days) * 86_400)
    }

    /// Why nothing, or no more, was written, for people.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Writes `ca.pem` and `ca-key.pem`, unless both are there, and `NAME.pem` and `NAME-key.pem` for each machine.
    /// Replaces nothing.
    ///
    /// - parameter machines: `NAME=HOST,HOST…`.
    /// - parameter report: told of each file that is written.
    func make(_ machines: [String], report: (String) -> Void) throws(Failure) {
        let machines = try machines.map { (text) throws(Failure) in try Self.machine(text) }
        let names = machines.map(\.name)
        if let name = names.first(where: { name in names.count { $0 == name } > 1 }) {
            throw Failure(description: "'\(name)' is named twice")
        }
        guard mkdir(folder, 0o700) == 0 || errno == EEXIST else {
            throw Failure(description: "cannot make \(folder): \(String(cString: strerror(errno)))")
        }
        for file in machines.flatMap({ ["\($0.name)-key.pem", "\($0.name).pem"] }) where exists(file) {
            throw Failure(
                description: "\(folder)/\(file) is there already, and is not replaced: move it away if the machine is "
                    + "to have a new certificate")
        }
        do {
            let authority = try authority(report)
            for (name, hosts) in machines {
                // A machine is a client of its own etcd as well.
                let hosts = hosts + ["localhost", "127.0.0.1"].filter { !hosts.contains($0) }
                try write(try authority.makeIdentity(of: name, hosts: hosts, validity: validity), name, report)
            }
        } catch {
            throw Failure(description: "\(error)")
        }
    }

    private static func machine(_ text: String) throws(Failure) -> (name: String, hosts: [String]) {
        let parts = text.split(separator: "=", omittingEmptySubsequences: false)
        let hosts = parts.last?.split(separator: ",", omittingEmptySubsequences: false).map { String($0) } ?? []
        let areHosts = hosts.allSatisfy { host in
            !host.isEmpty
                && host.utf8.allSatisfy { byte in
                    switch byte {
                    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ":"):
                        true
                    default: false
                    }
                }
        }
        guard parts.count == 2, areHosts, NodeName.isValid(String(parts[0])), parts[0] != "ca" else {
            throw Failure(description: "'\(text)' is not NAME=HOST or NAME=HOST,HOST")
        }
        return (String(parts[0]), hosts)
    }

    private static let authorityFiles = (certificate: "ca.pem", key: "ca-key.pem")

    /// The one that is there, or a new one. Half of one is not replaced: certificates of it may be in use.
    private func authority(_ report: (String) -> Void) throws -> CertificateAuthority {
        let files = Self.authorityFiles
        let certificate = FileBytes.read("\(folder)/\(files.certificate)")
        let key = try PrivateFile.read("\(folder)/\(files.key)")
        if let certificate, let key { return CertificateAuthority(.init(certificate: certificate, key: key)) }
        for (missing, other) in [(files.certificate, files.key), (files.key, files.certificate)] where exists(other) {
            throw Failure(
                description: "\(folder)/\(missing) is missing, or cannot be read, and \(folder)/\(other) is there: "
                    + "certificates of this authority need both. Put it back, or name another folder for a new authority"
            )
        }
        let made = try CertificateAuthority.make(validity: validity)
        try write(made.identity, "ca", report)
        return made
    }

    /// Whether there is something of this name in the folder, readable or not.
    private func exists(_ file: String) -> Bool {
        var status = stat()
        return lstat("\(folder)/\(file)", &status) == 0
    }

    private func write(_ identity: CertificateAuthority.Identity, _ name: String, _ report: (String) -> Void) throws {
        for (file, text) in [("\(name)-key.pem", identity.key), ("\(name).pem", identity.certificate)] {
            try PrivateFile.replace("\(folder)/\(file)", with: text)
            report("\(folder)/\(file)")
        }
    }
}
