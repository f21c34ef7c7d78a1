{{- define "penstock.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "penstock.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "penstock.labels" -}}
{{ include "penstock.selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "penstock.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "penstock.name" .) }}{{ else }}{{ .Values.serviceAccount.name | default "default" }}{{ end }}
{{- end }}

{{- define "penstock.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* The configuration file. The chart owns the addresses and the data directory; the probes and services depend on them. */}}
{{- define "penstock.config" -}}
{{- $own := dict "listen" "0.0.0.0:8080" "admin_listen" "0.0.0.0:9090" "data" "/var/lib/penstock" -}}
{{- toYaml (mergeOverwrite (deepCopy .Values.config) $own) -}}
{{- end }}

{{- define "penstock.container.security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{/* The pod of a role. Its argument is a dict with root, role and settings (api or worker of the values). */}}
{{- define "penstock.pod" -}}
{{- $ := .root -}}
metadata:
  labels:
    {{- include "penstock.selector" $ | nindent 4 }}
    app.kubernetes.io/component: {{ .role }}
  annotations:
    # Pods start again when the configuration changes: settings of the process need it.
    checksum/config: {{ include "penstock.config" $ | sha256sum }}
    {{- with .settings.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "penstock.serviceAccount" $ }}
  automountServiceAccountToken: false
  enableServiceLinks: false   # they would set variables that begin with PENSTOCK_
  {{- with $.Values.imagePullSecrets }}
  imagePullSecrets: {{ toYaml . | nindent 4 }}
  {{- end }}
  terminationGracePeriodSeconds: {{ $.Values.terminationGracePeriodSeconds }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: {type: RuntimeDefault}
  initContainers:
    # A mounted secret is readable for a group, which the server refuses for its keyset. So it gets a copy.
    - name: keyset
      image: {{ include "penstock.image" $ }}
      imagePullPolicy: {{ $.Values.image.pullPolicy }}
      args: [keyset, import, /run/secrets/keyset/keyset.json]
      securityContext: {{ include "penstock.container.security" $ | nindent 8 }}
      resources:
        requests: {cpu: 10m, memory: 32Mi}
        limits: {memory: 128Mi}
      volumeMounts:
        - {name: data, mountPath: /var/lib/penstock}
        - {name: keyset, mountPath: /run/secrets/keyset, readOnly: true}
  containers:
    - name: penstock
      image: {{ include "penstock.image" $ }}
      imagePullPolicy: {{ $.Values.image.pullPolicy }}
      args: [serve, --config, /etc/penstock/penstock.yaml, --role, {{ .role }}]
      securityContext: {{ include "penstock.container.security" $ | nindent 8 }}
      envFrom:
        - secretRef: {name: {{ $.Values.secrets.environment }}}
      {{- with .settings.extraEnv }}
      env: {{ toYaml . | nindent 8 }}
      {{- end }}
      ports:
        {{- if eq .role "api" }}
        - {name: http, containerPort: 8080}
        {{- end }}
        - {name: admin, containerPort: 9090}
      # The first start of a release may migrate the database.
      startupProbe:
        httpGet: {path: /healthz, port: admin}
        periodSeconds: 2
        failureThreshold: 150
      livenessProbe:
        httpGet: {path: /healthz, port: admin}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: {path: /readyz, port: admin}
        periodSeconds: 3
        timeoutSeconds: 3
        failureThreshold: 2
      resources: {{ toYaml .settings.resources | nindent 8 }}
      volumeMounts:
        - {name: config, mountPath: /etc/penstock, readOnly: true}
        - {name: data, mountPath: /var/lib/penstock}
        - {name: tmp, mountPath: /tmp}
  volumes:
    - name: config
      configMap: {name: {{ include "penstock.name" $ }}}
    - name: keyset
      secret: {secretName: {{ $.Values.secrets.keyset }}, defaultMode: 0440}
    - name: tmp
      emptyDir: {}
    {{- if eq .role "worker" }}
    - name: data
      emptyDir: {}
    {{- end }}
  {{- with .settings.nodeSelector }}
  nodeSelector: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- with .settings.tolerations }}
  tolerations: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- with .settings.affinity }}
  affinity: {{ toYaml . | nindent 4 }}
  {{- end }}
  topologySpreadConstraints:
    {{- with .settings.topologySpreadConstraints }}
    {{- toYaml . | nindent 4 }}
    {{- else }}
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "penstock.selector" $ | nindent 10 }}
          app.kubernetes.io/component: {{ .role }}
    {{- end }}
{{- end }}
