import HearthHTTPCodec
import HearthServerCodecs

/// An answer to a request.
public struct Response: Sendable {
    /// The status code, from 200 to 599.
    public var status: Int
    /// Header fields besides `Date`, `Content-Length` and `Connection`, in their order. Control characters in values
    /// are sent as spaces; a field whose name is not a token of HTTP is left out.
    public var headers: [(name: String, value: String)]
    /// The body; not sent for `HEAD`, 204 and 304.
    public var body: [UInt8]

    /// An answer with a body of any type.
    public init(_ status: Int = 200, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
        (self.status, self.headers, self.body) = (status, headers, body)
    }

    /// An answer with a text.
    public init(_ status: Int = 200, text: String) {
        self.init(status, headers: [("Content-Type", "text/plain; charset=utf-8")], body: Array(text.utf8))
    }

    /// An answer with JSON, as an encoder has written it.
    public init(_ status: Int = 200, json: [UInt8]) {
        self.init(status, headers: [("Content-Type", "application/json; charset=utf-8")], body: json)
    }

    func write(with writer: inout ResponseWriter, date: HTTPDate, into out: inout [UInt8]) {
        writer.begin(HTTPStatus((200...599).contains(status) ? status : 500), date: date, into: &out)
        for (name, value) in headers { writer.header(name, value, into: &out) }
        writer.end(body: body.span, into: &out)
    }
}

/// Why a request does not get what it asks for. Thrown by handlers, and made by the server for requests that no handler
/// gets.
public struct HTTPError: Error, Equatable, Sendable {
    /// The status code, such as 404.
    public var status: Int
    /// A sentence for people.
    public var message: String
    /// The methods that the path takes, if this one is not among them (405).
    public internal(set) var allowedMethods: [String] = []

    /// A status and a sentence.
    public init(_ status: Int, _ message: String) { (self.status, self.message) = (status, message) }
}
