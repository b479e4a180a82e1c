import HearthJSONTree
package import HearthRealtimeDatabase
import HearthSecurityRules
import HearthSystem

/// An event of a trigger as a CloudEvent in the form of Firebase's Realtime Database events (docs/using/triggers.md 3).
package struct CloudEvent: Sendable {
    private typealias Attribute = (name: StaticString, header: StaticString, value: [UInt8])

    private let attributes: [Attribute]
    private let data: [UInt8]
    package let id: String
    /// The place without a slash before it.
    package let ref: [UInt8]

    /// - parameter instance: the name of the database.
    package init(_ event: TriggerEvent, instance: String) {
        id = event.id
        ref = Array(event.path.text.drop { $0 == UInt8(ascii: "/") })
        let location = "us-central1"
        let source = "//firebasedatabase.googleapis.com/projects/_/locations/\(location)/instances/\(instance)"
        func text(_ name: StaticString, _ header: StaticString, _ value: String) -> Attribute {
            (name, header, Array(value.utf8))
        }
        var attributes = [
            text("specversion", "ce-specversion", "1.0"),
            text("id", "ce-id", event.id),
            text("type", "ce-type", "google.firebase.database.ref.v1.\(event.kind.rawValue)"),
            text("source", "ce-source", source),
            ("subject", "ce-subject", Array("refs/".utf8) + ref),
            text("time", "ce-time", "\(Timestamp(milliseconds: event.time))"),
            ("ref", "ce-ref", ref),
            text("instance", "ce-instance", instance),
            text("firebasedatabasehost", "ce-firebasedatabasehost", "firebaseio.com"),
            text("location", "ce-location", location),
        ]
        let (kind, uid): (String, [UInt8]?) =
            switch event.author {
            case .user(let uid): ("app_user", uid)
            case .administrator: ("admin", nil)
            case .nobody: ("unauthenticated", nil)
            case .server: ("unknown", nil)
            }
        attributes.append(text("authtype", "ce-authtype", kind))
        if let uid { attributes.append(("authid", "ce-authid", uid)) }
        self.attributes = attributes
        let type = "type.googleapis.com/google.events.firebase.database.v1.ReferenceEventData"
        data =
            Array("{\"@type\":\"\(type)\",\"data\":".utf8) + event.data + Array(",\"delta\":".utf8) + event.delta
            + [UInt8(ascii: "}")]
    }

    /// Headers besides those of the signature, and the body: all attributes and the data in one JSON object, or, in
    /// binary mode, the data alone, with the attributes as headers (CloudEvents 1.0, HTTP binding 3.1 and 3.2).
    package func message(isBinary: Bool) -> (headers: [(name: StaticString, value: [UInt8])], body: [UInt8]) {
        if isBinary {
            let type = (name: "content-type" as StaticString, value: Array("application/json".utf8))
            return ([type] + attributes.map { ($0.header, Self.percentEncoded($0.value)) }, data)
        }
        var body: [UInt8] = []
        for (name, _, value) in attributes {
            body.append(UInt8(ascii: body.isEmpty ? "{" : ","))
            body += Array("\"\(name)\":".utf8) + CanonicalJSON(string: value).bytes
        }
        body += Array(#","datacontenttype":"application/json""#.utf8)
        body += Array(",\"data\":".utf8) + data + [UInt8(ascii: "}")]
        return ([("content-type", Array("application/cloudevents+json; charset=utf-8".utf8))], body)
    }

    /// As values of headers are written (HTTP binding 3.1.3.2).
    private static func percentEncoded(_ value: [UInt8]) -> [UInt8] {
        var out: [UInt8] = []
        for byte in value {
            if (0x21...0x7E).contains(byte), byte != UInt8(ascii: "\""), byte != UInt8(ascii: "%") {
                out.append(byte)
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                out += Array("%\(digits.utf8.count < 2 ? "0" : "")\(digits)".utf8)
            }
        }
        return out
    }
}
