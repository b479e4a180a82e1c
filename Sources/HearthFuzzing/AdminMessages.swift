import HearthJSONValues
import HearthWireProtocol
import HearthServerProtocol

/// Bodies of the action `admin`, one a line, of an administrator of a whole server. Those that can be read are the same
/// when they are written again, and each is answered.
public func fuzzAdminMessages(_ bytes: UnsafeRawBufferPointer) {
    let connection = FuzzedServer.shared.connect()
    connection.upgrade()
    var waiting: Set<Int64> = []
    for (index, line) in bytes.split(separator: 0x0A).prefix(20).enumerated() {
        let number = Int64(index) + 1
        let message = Array(#"{"t":"d","d":{"r":\#(number),"a":"admin","b":"#.utf8) + line + Array("}}".utf8)
        guard
            let parsed = try? message.withUnsafeBytes({ bytes throws(MessageError) in try ClientMessage.parse(bytes) })
        else { continue }
        switch parsed {
        case .administration(number, let request):
            // The writer takes only UTF-8. The reader accepts other bytes, and each such request is answered too.
            if String(validating: line, as: UTF8.self) != nil { rewrite(request) }
            // Backups would fill the disk.
            if request == .backup { continue }
        case .invalidRequest(number, _): break
        default: continue
        }
        waiting.insert(number)
        connection.send(message: message)
    }
    while !waiting.isEmpty {
        // A request that ends all sessions ends this one too.
        guard let messages = connection.receiveMessages() else { return }
        for message in messages {
            guard let answer = try? JSONValue(parsing: message) else { preconditionFailure("an answer is not JSON") }
            if let number = answer.object?["d"]?.object?["r"]?.integer { waiting.remove(number) }
        }
    }
}

private func rewrite(_ request: AdminRequest) {
    var message: [UInt8] = []
    ClientMessageWriter.append(.admin(body: request.body), number: 1, to: &message)
    let copy = try? message.withUnsafeBytes { bytes throws(MessageError) in try ClientMessage.parse(bytes) }
    guard case .administration(1, request)? = copy else {
        preconditionFailure("a request that was written is another")
    }
}
