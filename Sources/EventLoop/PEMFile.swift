import CHearthOpenSSL
import Glibc

/// Describes the mistake in a file that should hold a certificate or a key, for readers without knowledge of OpenSSL.
struct PEMFile {
    enum Content {
        case certificate, privateKey
    }

    private let path: String

    init(_ path: String) { self.path = path }

    /// Nil if the file looks as it should, so that only OpenSSL knows better. Forgets OpenSSL's error otherwise.
    func problem(expecting content: Content) -> TLSError? {
        guard let reason = reason(content) else { return nil }
        ERR_clear_error()
        return TLSError(reason)
    }

    private func reason(_ content: Content) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "cannot read \(path): \(String(cString: strerror(errno)))" }
        defer { close(descriptor) }
        // As much as any chain of certificates has.
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = read(descriptor, &bytes, bytes.count)
        guard count >= 0 else { return "cannot read \(path): \(String(cString: strerror(errno)))" }
        let text = String(decoding: bytes[..<count], as: UTF8.self)
        let hasKey = text.contains("PRIVATE KEY-----")
        let hasCertificate = text.contains("-----BEGIN CERTIFICATE-----")
        switch content {
        case .certificate where hasCertificate: return nil
        case .certificate where hasKey:
            return "\(path) holds a private key, not a certificate: are the two files interchanged?"
        case .certificate:
            return "\(path) is not a certificate in PEM form, which begins with '-----BEGIN CERTIFICATE-----'"
        case .privateKey where text.contains("ENCRYPTED"):
            return "the private key \(path) is encrypted: a key without a password is needed"
        case .privateKey where hasKey: return nil
        case .privateKey where hasCertificate:
            return "\(path) holds a certificate, not a private key: are the two files interchanged?"
        case .privateKey:
            return "\(path) is not a private key in PEM form, which begins with '-----BEGIN PRIVATE KEY-----'"
        }
    }
}
