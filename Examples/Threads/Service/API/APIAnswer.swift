import HTTPCodec
import JSONWebTokens

/// An answer: JSON with `status`, which is `ok` or `error`.
struct APIAnswer: Sendable {
    var status = HTTPStatus.ok
    var body = JSONObject(["status": .text("ok")])
    /// For the header `Allow`.
    var allowed: HTTPMethod?

    init(_ members: JSONObject) { body.merge(members) }

    init(_ failure: APIFailure) {
        status = failure.status
        allowed = failure.allowed
        body = JSONObject(["status": .text("error"), "error": .text(failure.message)])
        guard !failure.fields.isEmpty else { return }
        var fields = JSONObject()
        for (name, problem) in failure.fields.sorted(by: { $0.key < $1.key }) { fields[name] = .text(problem) }
        body["fields"] = .object(fields)
    }

    /// Writes it behind what `out` holds.
    func write(with writer: inout ResponseWriter, date: HTTPDate, into out: inout [UInt8]) {
        writer.begin(status, date: date, into: &out)
        writer.header("Content-Type", "application/json; charset=utf-8", into: &out)
        // Answers hold tokens, and are not the same for everybody.
        writer.header("Cache-Control", "no-store", into: &out)
        if status == .unauthorized { writer.header("WWW-Authenticate", "Bearer", into: &out) }
        if let allowed { writer.header("Allow", allowed.name, into: &out) }
        writer.end(body: body.bytes.span, into: &out)
    }
}
