import CSQLite
import Glibc
import Synchronization

/// The SQLite file system (VFS) that hands everything to the real one and tells ``FaultyDisk``s.
///
/// A file of a disk is laid out as `OpenFile`, and behind it the real file system's file.
enum FaultyFileSystem {
    /// By folder.
    static let disks = Mutex<[String: FaultyDisk]>([:])

    private struct OpenFile {
        var base: sqlite3_file
        var owner: UnsafeMutableRawPointer?
    }

    /// What an open file belongs to.
    private final class Owner {
        let disk: FaultyDisk
        let name: String

        init(disk: FaultyDisk, name: String) {
            self.disk = disk
            self.name = name
        }
    }

    private static let realOffset = 32

    /// Makes it the default, once.
    static func install() { _ = installed }

    private static let installed: Bool = {
        guard let real = sqlite3_vfs_find(nil) else { return false }
        let system = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        system.pointee = real.pointee
        system.pointee.pNext = nil
        system.pointee.szOsFile = real.pointee.szOsFile + Int32(realOffset)
        system.pointee.pAppData = UnsafeMutableRawPointer(real)
        system.pointee.zName = UnsafePointer(strdup("faulty"))
        system.pointee.xOpen = { open($0, $1, $2, $3, $4) }
        system.pointee.xDelete = { delete($0, $1, $2) }
        return sqlite3_vfs_register(system, 1) == SQLITE_OK
    }()

    private static func real(_ system: UnsafeMutablePointer<sqlite3_vfs>?) -> UnsafeMutablePointer<sqlite3_vfs>? {
        system?.pointee.pAppData?.assumingMemoryBound(to: sqlite3_vfs.self)
    }

    private static func disk(of path: UnsafePointer<CChar>?) -> (disk: FaultyDisk, name: String)? {
        guard let path = path.map({ String(cString: $0) }), let slash = path.lastIndex(of: "/") else { return nil }
        guard let disk = disks.withLock({ $0[String(path[..<slash])] }) else { return nil }
        return (disk, String(path[path.index(after: slash)...]))
    }

    // MARK: The file system

    private static func open(
        _ system: UnsafeMutablePointer<sqlite3_vfs>?, _ path: UnsafePointer<CChar>?,
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: Int32, _ outFlags: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        guard let real = real(system), let open = real.pointee.xOpen, let file else { return SQLITE_ERROR }
        guard let (disk, name) = disk(of: path) else { return open(real, path, file, flags, outFlags) }
        let realFile = Self.real(file)
        let code = open(real, path, realFile, flags, outFlags)
        file.pointee.pMethods = nil
        guard code == SQLITE_OK else { return code }
        disk.opened(name)
        UnsafeMutableRawPointer(file).assumingMemoryBound(to: OpenFile.self).pointee.owner =
            Unmanaged.passRetained(Owner(disk: disk, name: name)).toOpaque()
        file.pointee.pMethods = methods
        return SQLITE_OK
    }

    private static func delete(
        _ system: UnsafeMutablePointer<sqlite3_vfs>?, _ path: UnsafePointer<CChar>?, _ syncFolder: Int32
    ) -> Int32 {
        guard let real = real(system), let delete = real.pointee.xDelete else { return SQLITE_ERROR }
        if let (disk, name) = disk(of: path) { disk.deleted(name) }
        return delete(real, path, syncFolder)
    }

    // MARK: Files

    private typealias File = UnsafeMutablePointer<sqlite3_file>

    private static func real(_ file: File) -> File {
        UnsafeMutableRawPointer(file).advanced(by: realOffset).assumingMemoryBound(to: sqlite3_file.self)
    }

    private static func owner(_ file: File) -> Unmanaged<Owner>? {
        UnsafeMutableRawPointer(file).assumingMemoryBound(to: OpenFile.self).pointee.owner.map {
            Unmanaged<Owner>.fromOpaque($0)
        }
    }

    /// Calls a method of the real file.
    private static func call(_ file: File?, _ body: (sqlite3_io_methods, File) -> Int32?) -> Int32 {
        guard let file, let methods = real(file).pointee.pMethods else { return SQLITE_ERROR }
        return body(methods.pointee, real(file)) ?? SQLITE_ERROR
    }

    /// Never freed: SQLite keeps the address.
    nonisolated(unsafe) private static let methods: UnsafePointer<sqlite3_io_methods> = {
        let methods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        methods.pointee = sqlite3_io_methods()
        methods.pointee.iVersion = 2
        methods.pointee.xClose = { file in
            if let file { owner(file)?.release() }
            return call(file) { $0.xClose?($1) }
        }
        methods.pointee.xRead = { file, bytes, count, offset in call(file) { $0.xRead?($1, bytes, count, offset) } }
        methods.pointee.xWrite = { write($0, $1, $2, $3) }
        methods.pointee.xTruncate = { truncate($0, $1) }
        methods.pointee.xSync = { sync($0, $1) }
        methods.pointee.xFileSize = { file, size in call(file) { $0.xFileSize?($1, size) } }
        methods.pointee.xLock = { file, level in call(file) { $0.xLock?($1, level) } }
        methods.pointee.xUnlock = { file, level in call(file) { $0.xUnlock?($1, level) } }
        methods.pointee.xCheckReservedLock = { file, result in call(file) { $0.xCheckReservedLock?($1, result) } }
        methods.pointee.xFileControl = { file, op, argument in call(file) { $0.xFileControl?($1, op, argument) } }
        methods.pointee.xSectorSize = { file in call(file) { $0.xSectorSize?($1) } }
        methods.pointee.xDeviceCharacteristics = { file in call(file) { $0.xDeviceCharacteristics?($1) } }
        methods.pointee.xShmMap = { file, page, size, extend, address in
            call(file) { $0.xShmMap?($1, page, size, extend, address) }
        }
        methods.pointee.xShmLock = { file, offset, count, flags in call(file) { $0.xShmLock?($1, offset, count, flags) }
        }
        methods.pointee.xShmBarrier = { file in
            _ = call(file) {
                $0.xShmBarrier?($1)
                return SQLITE_OK
            }
        }
        methods.pointee.xShmUnmap = { file, delete in call(file) { $0.xShmUnmap?($1, delete) } }
        return UnsafePointer(methods)
    }()

    private static func write(_ file: File?, _ bytes: UnsafeRawPointer?, _ count: Int32, _ offset: Int64) -> Int32 {
        guard let file, let owner = owner(file)?.takeUnretainedValue(), let bytes else { return SQLITE_ERROR }
        if let fault = owner.disk.begins() { return fault.write }
        let code = call(file) { $0.xWrite?($1, bytes, count, offset) }
        if code == SQLITE_OK {
            let copy = Array(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
            owner.disk.wrote(copy, at: Int(offset), to: owner.name)
        }
        return code
    }

    private static func truncate(_ file: File?, _ size: Int64) -> Int32 {
        guard let file, let owner = owner(file)?.takeUnretainedValue() else { return SQLITE_ERROR }
        if let fault = owner.disk.begins() { return fault.write }
        let code = call(file) { $0.xTruncate?($1, size) }
        if code == SQLITE_OK { owner.disk.truncated(owner.name, to: Int(size)) }
        return code
    }

    private static func sync(_ file: File?, _ flags: Int32) -> Int32 {
        guard let file, let owner = owner(file)?.takeUnretainedValue() else { return SQLITE_ERROR }
        if let fault = owner.disk.begins() { return fault.sync }
        // The real sync costs time and proves nothing here: the disk knows what is durable.
        owner.disk.synced(owner.name)
        return SQLITE_OK
    }
}
