package zerobind.internal

import java.io.File
import java.util.ServiceLoader

/** Where native libraries are: in the folder of the property `zerobind.library.path`, or where the JVM looks. */
internal object Library {
    private const val FOLDER = "zerobind.library.path"

    /** The file of a library in the folder of the property; null without the property. */
    fun file(name: String): File? = System.getProperty(FOLDER)?.let { File(it, System.mapLibraryName(name)).absoluteFile }

    fun load(name: String) {
        val file = file(name)
        try {
            if (file != null) System.load(file.path) else System.loadLibrary(name)
        } catch (e: UnsatisfiedLinkError) {
            val where = file?.path ?: "java.library.path (${System.getProperty("java.library.path")})"
            throw UnsatisfiedLinkError("$name was not loaded from $where: ${e.message}. Set the system property $FOLDER to the " +
                "folder that has libzerobind and libzerobind_jni")
        }
    }
}

/** The backend of the process: chosen once, at the first use. */
@JvmField
internal val native: Backend = chooseBackend()

/** The property that chooses a backend by name. */
private const val BACKEND = "zerobind.backend"

/** Java versions whose foreign-function API is final. */
private const val FFM_SINCE = 22

private fun chooseBackend(): Backend = when (val wanted = System.getProperty(BACKEND)) {
    null -> ffm() ?: Jni()
    "jni" -> Jni()
    "ffm" -> ffm() ?: throw UnsatisfiedLinkError(
        "$BACKEND is ffm, which needs Java $FFM_SINCE or newer (this is ${System.getProperty("java.version")}) and zerobind-ffm.jar",
    )
    else -> throw UnsatisfiedLinkError("$BACKEND is $wanted; it can be jni or ffm")
}

/** The backend of zerobind-ffm.jar, if that is there and the JVM is new enough: older ones cannot even load its classes. */
private fun ffm(): Backend? {
    val version = System.getProperty("java.specification.version").orEmpty().substringBefore('.').toIntOrNull() ?: 0
    if (version < FFM_SINCE) return null
    return ServiceLoader.load(BackendProvider::class.java, BackendProvider::class.java.classLoader).firstOrNull()?.open()
}
