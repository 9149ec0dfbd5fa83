package org.apache.iceberg.rest;

import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletRequestWrapper;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.iceberg.CatalogUtil;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;

/**
 * Serves Iceberg's own REST catalog, the one that its tests run, over JDBC and S3.
 *
 * <p>Each bucket has a catalog of its own at http://host:port/BUCKET, made when it is first asked for: tests
 * share the process and nothing else. Its tables are in s3://BUCKET/warehouse, its state in a SQLite file.
 *
 * <p>Arguments: the port, a folder for the files, then key=value, properties for all catalogs.
 */
public final class TestServer extends HttpServlet {
  private final String dir;
  private final Map<String, String> common;
  private final Map<String, RESTCatalogServlet> catalogs = new ConcurrentHashMap<>();

  private TestServer(String dir, Map<String, String> common) {
    this.dir = dir;
    this.common = common;
  }

  public static void main(String[] args) throws Exception {
    Map<String, String> common = new HashMap<>();
    common.put("catalog-impl", "org.apache.iceberg.jdbc.JdbcCatalog");
    common.put("io-impl", "org.apache.iceberg.aws.s3.S3FileIO");
    common.put("jdbc.schema-version", "V1");
    common.put("clients", "1"); // SQLite takes one writer
    for (int i = 2; i < args.length; i++) {
      String[] pair = args[i].split("=", 2);
      common.put(pair[0], pair[1]);
    }
    ServletContextHandler handler = new ServletContextHandler("/", false, false);
    handler.addServlet(new ServletHolder(new TestServer(args[1], common)), "/*");
    Server server = new Server(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])));
    server.setHandler(handler);
    server.start();
  }

  @Override
  protected void service(HttpServletRequest request, HttpServletResponse response) throws ServletException, IOException {
    String[] path = request.getRequestURI().split("/", 3);
    if (path.length < 3) { // a question whether the server is up
      response.setStatus(HttpServletResponse.SC_OK);
      return;
    }
    HttpServletRequest inside = new HttpServletRequestWrapper(request) {
      @Override
      public String getRequestURI() {
        return "/" + path[2];
      }
    };
    catalogs.computeIfAbsent(path[1], this::open).service(inside, response);
  }

  private RESTCatalogServlet open(String bucket) {
    Map<String, String> properties = new HashMap<>(common);
    properties.put("uri", "jdbc:sqlite:" + dir + "/" + bucket + ".db");
    properties.put("warehouse", "s3://" + bucket + "/warehouse");
    return new RESTCatalogServlet(new RESTCatalogAdapter(CatalogUtil.buildIcebergCatalog("lake", properties, null)));
  }
}
