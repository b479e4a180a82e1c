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

    /// Writes `ca.pem` and `ca-key.pem`, unless they are there, and `NAME.pem` and `NAME-key.pem` for each machine.
    ///
    /// - parameter machines: `NAME=HOST,HOST…`.
    /// - parameter report: told of each file that is written.
    func make(_ machines: [String], report: (String) -> Void) throws(Failure) {
        let machines = try machines.map { (text) throws(Failure) in try Self.machine(text) }
        guard mkdir(folder, 0o700) == 0 || errno == EEXIST else {
            throw Failure(description: "cannot make \(folder): \(String(cString: strerror(errno)))")
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

    private func authority(_ report: (String) -> Void) throws -> CertificateAuthority {
        if let certificate = FileBytes.read("\(folder)/ca.pem"), let key = try PrivateFile.read("\(folder)/ca-key.pem")
        {
            return CertificateAuthority(.init(certificate: certificate, key: key))
        }
        let made = try CertificateAuthority.make(validity: validity)
        try write(made.identity, "ca", report)
        return made
    }

    private func write(_ identity: CertificateAuthority.Identity, _ name: String, _ report: (String) -> Void) throws {
        for (file, text) in [("\(name)-key.pem", identity.key), ("\(name).pem", identity.certificate)] {
            try PrivateFile.replace("\(folder)/\(file)", with: text)
            report("\(folder)/\(file)")
        }
    }
}
