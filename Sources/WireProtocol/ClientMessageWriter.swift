import HearthJSONTree

/// Writes the messages of a client (Protocol.md 2, 3.3, 4) at the end of a byte array. Values are canonical text and
/// are copied as they are.
package enum ClientMessageWriter {
    /// The frame that keeps a silent connection open. Not a message: it is never cut, joined or answered (Protocol.md
    /// 2.6).
    package static let keepAlive = Array("0".utf8)

    /// Asks for a pong.
    package static func appendPing(to out: inout [UInt8]) { out.append(literal: #"{"t":"c","d":{"t":"p","d":{}}}"#) }

    package static func append(_ request: ClientRequest, number: Int64, to out: inout [UInt8]) {
        out.append(literal: #"{"t":"d","d":{"r":"#)
        out.append(decimal: number)
        out.append(literal: #","a":"#)
        switch request {
        case .put(let assignment, let hash):
            out.append(literal: #""p","b":{"p":"#)
            out.append(quoted: assignment.target)
            out.append(literal: #","d":"#)
            out.append(contentsOf: assignment.value.bytes)
            append("h", hash, to: &out)
        case .merge(let base, let assignments):
            out.append(literal: #""m","b":{"#)
            out.append(base: base, assignments.lazy.map { ($0.target, $0.value) })
        case .onDisconnect(let assignment):
            out.append(literal: #""o","b":{"p":"#)
            out.append(quoted: assignment.target)
            out.append(literal: #","d":"#)
            out.append(contentsOf: assignment.value.bytes)
        case .onDisconnectMerge(let base, let assignments):
            out.append(literal: #""om","b":{"#)
            out.append(base: base, assignments.lazy.map { ($0.target, $0.value) })
        case .cancelOnDisconnect(let path):
            out.append(literal: #""oc","b":{"p":"#)
            out.append(quoted: path)
            out.append(literal: #","d":null"#)
        case .get(let path, let query):
            out.append(literal: query.hasConditions ? #""cg","b":{"p":"# : #""g","b":{"p":"#)
            out.append(quoted: path)
            out.append(literal: #","q":"#)
            // Always present (Protocol.md 4.4).
            out.append(contentsOf: query?.text ?? Array("{}".utf8))
        case .listen(let path, let query, let tag, let hash, let parts, let since):
            out.append(literal: query.hasConditions ? #""cq","b":{"p":"# : #""q","b":{"p":"#)
            out.append(quoted: path)
            append(query, tag, to: &out)
            append("h", hash, to: &out)
            if let parts { append(parts, to: &out) }
            append("since", since, to: &out)
        case .unlisten(let path, let query, let tag):
            out.append(literal: #""n","b":{"p":"#)
            out.append(quoted: path)
            // The tag alone names it.
            append(query.hasConditions ? nil : query, tag, to: &out)
        case .events(let path, let query, let tag, let kinds):
            out.append(literal: query.hasConditions ? #""cq","b":{"p":"# : #""ev","b":{"p":"#)
            out.append(quoted: path)
            append(query, tag, to: &out)
            out.append(literal: #","e":["#)
            var isFirst = true
            for (kind, name) in EventKinds.names where kinds.contains(kind) {
                out.append(literal: isFirst ? #"""# : #",""#)
                out.append(literal: name)
                out.append(literal: #"""#)
                isFirst = false
            }
            out.append(literal: "]")
        case .noEvents(let tag):
            out.append(literal: #""nev","b":{"t":"#)
            out.append(decimal: tag)
        case .job(let queue, let job):
            out.append(literal: "\"")
            out.append(literal: job.action)
            out.append(literal: #"","b":{"#)
            job.appendBody(at: queue, to: &out)
        case .statistics: out.append(literal: #""s","b":{"c":{}"#)
        case .authenticate(let credential, let acting):
            out.append(literal: #""auth","b":{"cred":"#)
            JSONText.appendQuoted(credential, to: &out)
            if let acting {
                let isNobody = acting.elementsEqual("null".utf8)
                out.append(literal: isNobody ? #","noauth":"# : #","authvar":"#)
                out.append(contentsOf: isNobody ? Array("true".utf8) : acting)
            }
        case .unauthenticate: out.append(literal: #""unauth","b":{"#)
        case .appCheck: out.append(literal: #""appcheck","b":{"#)
        case .admin(let body):
            out.append(literal: #""admin","b":"#)
            // Its last brace comes with those of the message.
            out.append(contentsOf: body.dropLast())
        case .history(let request):
            out.append(literal: #""h","b":{"#)
            request.appendBody(to: &out)
        case .unknown(let action):
            JSONText.appendQuoted(action, to: &out)
            out.append(literal: #","b":{"#)
        }
        out.append(literal: "}}}")
    }

    private static func append(_ query: QueryObject?, _ tag: Int64?, to out: inout [UInt8]) {
        if let query {
            out.append(literal: #","q":"#)
            out.append(contentsOf: query.text)
        }
        if let tag {
            out.append(literal: #","t":"#)
            out.append(decimal: tag)
        }
    }

    private static func append(_ parts: CompoundHash.Parts, to out: inout [UInt8]) {
        out.append(literal: #","ch":{"hs":["#)
        for (index, hash) in parts.hashes.enumerated() {
            if index > 0 { out.append(literal: ",") }
            JSONText.appendQuoted(hash, to: &out)
        }
        out.append(literal: #"],"ps":["#)
        for (index, post) in parts.posts.enumerated() {
            if index > 0 { out.append(literal: ",") }
            JSONText.appendQuoted(post.isRoot ? [UInt8(ascii: "/")] : post.text, to: &out)
        }
        out.append(literal: "]}")
    }

    private static func append(_ name: StaticString, _ text: [UInt8]?, to out: inout [UInt8]) {
        guard let text else { return }
        out.append(literal: ",\"")
        out.append(literal: name)
        out.append(literal: "\":")
        JSONText.appendQuoted(text, to: &out)
    }
}

extension QueryObject? {
    /// Whether it belongs to an action of its own (Protocol.md 18.3).
    fileprivate var hasConditions: Bool { self?.query.conditions != nil }
}
