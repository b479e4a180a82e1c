import Glibc

/// A mail relay near by that takes mail without credentials or encryption (RFC 5321), as one on the same machine does.
struct SMTPRelay {
    private let host: String
    private let port: UInt16
    private static let secondsMax = 30

    init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    func send(_ message: String, from sender: String, to recipient: String) throws(MailError) {
        let descriptor = try connect()
        defer { close(descriptor) }
        var dialog = Dialog(descriptor: descriptor)
        try dialog.expect(220)
        try dialog.say("EHLO hearth", expecting: 250)
        try dialog.say("MAIL FROM:<\(sender)>", expecting: 250)
        try dialog.say("RCPT TO:<\(recipient)>", expecting: 250)
        try dialog.say("DATA", expecting: 354)
        try dialog.say(Self.stuffed(message) + "\r\n.", expecting: 250)
        try? dialog.say("QUIT", expecting: 221)
    }

    /// A line that begins with a dot gets another one (RFC 5321, section 4.5.2).
    static func stuffed(_ message: String) -> String {
        message.split(separator: "\r\n", omittingEmptySubsequences: false).map { $0.hasPrefix(".") ? ".\($0)" : $0 }
            .joined(separator: "\r\n")
    }

    private func connect() throws(MailError) -> Int32 {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &list) == 0, let first = list else {
            throw MailError(reason: "the mail relay \(host) has no address")
        }
        defer { freeaddrinfo(list) }
        var limit = timeval(tv_sec: Self.secondsMax, tv_usec: 0)
        for address in sequence(first: first, next: { $0.pointee.ai_next }) {
            let descriptor = socket(address.pointee.ai_family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            guard descriptor >= 0 else { continue }
            for option in [SO_SNDTIMEO, SO_RCVTIMEO] {
                setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
            }
            if Glibc.connect(descriptor, address.pointee.ai_addr, address.pointee.ai_addrlen) == 0 { return descriptor }
            close(descriptor)
        }
        throw MailError(reason: "the mail relay \(host):\(port) cannot be reached")
    }

    private struct Dialog {
        let descriptor: Int32
        private var input: [UInt8] = []

        init(descriptor: Int32) { self.descriptor = descriptor }

        mutating func say(_ line: String, expecting code: Int) throws(MailError) {
            var rest = Array((line + "\r\n").utf8)[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes {
                    Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else { throw MailError(reason: "the mail relay has hung up") }
                rest = rest.dropFirst(count)
            }
            try expect(code)
        }

        /// Reads a reply to its last line, in which a space follows the code.
        mutating func expect(_ code: Int) throws(MailError) {
            while true {
                let line = try line()
                guard line.count >= 3 else { throw MailError(reason: "the mail relay speaks another language") }
                if line.count > 3, line[3] == UInt8(ascii: "-") { continue }
                let got = String(decoding: line.prefix(3), as: UTF8.self)
                guard got == String(code) else { throw MailError(reason: "the mail relay answered \(got) for \(code)") }
                return
            }
        }

        private mutating func line() throws(MailError) -> [UInt8] {
            while true {
                if let end = input.firstIndex(of: UInt8(ascii: "\n")) {
                    let line = Array(input[..<end])
                    input.removeFirst(end + 1)
                    return line
                }
                var buffer = [UInt8](repeating: 0, count: 1024)
                let count = recv(descriptor, &buffer, buffer.count, 0)
                guard count > 0, input.count < 64 << 10 else {
                    throw MailError(reason: "the mail relay does not answer")
                }
                input += buffer[..<count]
            }
        }
    }
}
